"""From a study's lists to its runs: complete settings, and a folder name that their hash makes unique."""

from dataclasses import dataclass
from itertools import product
from typing import Any

from sizewise.data.dataset import Dataset
from sizewise.errors import BadInput
from sizewise.loss_formula import is_formula
from sizewise.losses import ALIASES, NAMED_LOSSES, loss
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.study.study_config import StudyConfig
from sizewise.terms.term import Term
from sizewise.train.config import RunConfig
from sizewise.train.datasets import OpenDatasets
from sizewise.train.resolve import ResolvedRun, resolve
from sizewise.train.run_folder import run_name
from sizewise.train.setting_words import LOSS_OPTIONS, run_settings

SIZE_OPTION = "temperature"


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study.

    Attributes:
        name: of its folder.
        run: complete; the data set is shared by the runs on the same data.
        decisions: under which its test cases are scored. They do not change the run: its name stays as it is.
    """

    name: str
    run: ResolvedRun
    decisions: tuple[str, ...] = (ARGMAX,)

    @property
    def config(self) -> RunConfig:
        """Its settings."""
        return self.run.config

    @property
    def dataset(self) -> Dataset:
        """Opened."""
        return self.run.dataset


def plan_runs(study: StudyConfig, datasets: OpenDatasets | None = None) -> list[PlannedRun]:
    """All runs, seed by seed: a study that is stopped early has compared every loss on the seeds that it did.

    With folds a seed is a run for each of them.

    Args:
        study: what is compared.
        datasets: those that are open already; each data set is opened once.
    """
    datasets = datasets or OpenDatasets()
    settings = run_settings(dict(study.settings))
    settings.pop("loss_options", None)  # each loss takes those that it has
    ramp = settings.pop("ramp", "")
    if ramp and not any(takes_ramp(options["loss"]) for options in loss_settings(study)):
        raise BadInput(
            f"`ramp` lets the λ of a loss grow, and none of these has one: {', '.join(study.losses)}. Leave it out, or "
            "compare with a loss that has a λ, as RCE."
        )
    folds = [{"fold": fold} for fold in range(settings.get("folds", 0))] or [{}]
    runs = []
    for data in study.data:
        for model in study.models or (None,):
            base = settings | {"data": data} | ({"model": model} if model else {})
            for seed, fold, options in product(study.seeds, folds, loss_settings(study)):
                ramped = {"ramp": ramp} if ramp and takes_ramp(options["loss"]) else {}
                run = resolve(base | options | ramped | {"seed": seed} | fold, datasets=datasets)
                if run.dataset.spatial_dims == 3:  # found from the data by the first run: once is enough
                    base |= {"patch": run.config.patch, "spacing": run.config.spacing}
                runs.append(PlannedRun(run_name(run.config, run.dataset.name), run, study.decisions or (ARGMAX,)))
    return runs


def has_weight(name: str) -> bool:
    """Whether a loss has a λ.

    >>> has_weight("CE"), has_weight("RCE")
    (False, True)
    """
    named = NAMED_LOSSES.get(ALIASES.get(name, name))
    return named is not None and named.weight is not None


def takes_ramp(name: str) -> bool:
    """Whether a ramp goes to a loss: one that has a λ, or is written down with a second term.

    >>> takes_ramp("CE"), takes_ramp("RCE"), takes_ramp("CE + 0.3 * SizeL1"), takes_ramp("2 * CE")
    (False, True, True, False)
    """
    if not is_formula(name):
        return has_weight(name)
    try:
        return len(loss(name).weights) > 1
    except ValueError:
        return False  # resolving the run says what is wrong with it


def loss_settings(study: StudyConfig) -> list[dict[str, Any]]:
    """Every loss with every λ and τ that it has, and with those of the study's loss options that it has.

    >>> loss_settings(StudyConfig(data=("synthetic",), losses=("CE", "RCE"), weights=(0.1, 1.0)))
    [{'loss': 'CE'}, {'loss': 'RCE', 'weight': 0.1}, {'loss': 'RCE', 'weight': 1.0}]
    """
    found: list[dict[str, Any]] = []
    for name in study.losses:
        try:
            parts = [] if is_formula(name) else loss(name).pairs()  # a formula has its options in it
        except ValueError:
            parts = []  # resolving the run says what is wrong with the name
        has = {option for term, _ in parts if isinstance(term, Term) for option in type(term).option_names()}
        shared = {option: value for option, value in study.settings if option in LOSS_OPTIONS and option in has}
        weights: tuple[Any, ...] = study.weights if has_weight(name) and study.weights else (None,)
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
