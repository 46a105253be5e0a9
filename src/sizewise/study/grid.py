"""From a study's lists to its runs: complete settings, and a folder name that their hash makes unique."""

import re
from dataclasses import dataclass
from typing import Any

from sizewise.data.dataset import Dataset
from sizewise.losses import loss
from sizewise.study.config import StudyConfig
from sizewise.terms.term import Term
from sizewise.train.config import RunConfig
from sizewise.train.options import LOSS_OPTIONS, run_settings
from sizewise.train.resolve import resolve

SIZE_OPTION = "temperature"


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study.

    Attributes:
        name: of its folder.
        config: complete.
        dataset: opened; shared by the runs on the same data.
    """

    name: str
    config: RunConfig
    dataset: Dataset


def plan_runs(study: StudyConfig) -> list[PlannedRun]:
    """All runs, seed by seed: a study that is stopped early has compared every loss on the seeds that it did."""
    settings = run_settings(dict(study.settings))
    settings.pop("loss_options", None)  # each loss takes those that it has
    runs = []
    for data in study.data:
        for model in study.models or (None,):
            base = settings | {"data": data} | ({"model": model} if model else {})
            first, dataset = resolve(base | {"loss": study.losses[0]})
            shared = {"patch": first.patch, "spacing": first.spacing}  # found from the data: once is enough
            for seed in study.seeds:
                for options in loss_settings(study):
                    config, _ = resolve(base | shared | options | {"seed": seed}, dataset=dataset)
                    runs.append(PlannedRun(run_name(config, dataset.name), config, dataset))
    return runs


def loss_settings(study: StudyConfig) -> list[dict[str, Any]]:
    """Every loss with every λ and τ that it has, and with those of the study's loss options that it has.

    >>> loss_settings(StudyConfig(data=("synthetic",), losses=("CE", "RCE"), weights=(0.1, 1.0)))
    [{'loss': 'CE'}, {'loss': 'RCE', 'weight': 0.1}, {'loss': 'RCE', 'weight': 1.0}]
    """
    found: list[dict[str, Any]] = []
    for name in study.losses:
        try:
            parts = loss(name).pairs()
        except ValueError:
            parts = []  # resolving the run says what is wrong with the name
        has = {option for term, _ in parts if isinstance(term, Term) for option in type(term).option_names()}
        shared = {option: value for option, value in study.settings if option in LOSS_OPTIONS and option in has}
        weights: tuple[Any, ...] = study.weights if len(parts) > 1 and study.weights else (None,)
        temperatures: tuple[Any, ...] = study.temperatures if SIZE_OPTION in has and study.temperatures else (None,)
        for weight in weights:
            for temperature in temperatures:
                one: dict[str, Any] = {"loss": name}
                if weight is not None:
                    one["weight"] = weight
                options = shared if temperature is None else shared | {SIZE_OPTION: temperature}
                if options:
                    one["loss_options"] = tuple(options.items())
                found.append(one)
    return found


def run_name(config: RunConfig, data: str) -> str:
    """DATA-MODEL-LOSS-SEED-HASH, in letters that every file system takes."""
    words = [data, config.model, config.loss, f"s{config.seed}", config.hash]
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(words))
