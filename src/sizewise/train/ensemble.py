"""Several trained runs as one predictor: the mean of their probabilities, then one decision."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric

from sizewise.data.dataset import Case
from sizewise.data.split import Split
from sizewise.decisions.rule import SIZE
from sizewise.errors import BadInput
from sizewise.train.augment import AUGMENTATIONS
from sizewise.train.calibration import fit_temperatures, run_temperature, sampled_pixels
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.datasets import OpenDatasets
from sizewise.train.inference import OVERLAP
from sizewise.train.machine import make_fabric
from sizewise.train.predictor import Ensemble, Network, Predictor
from sizewise.train.preparation import Preparation
from sizewise.train.scoring import load_network
from sizewise.train.setup import Log
from sizewise.train.task import Task, make_task
from sizewise.wording import counted

SAME_PROBLEM = {
    "classes": "classes",
    "spatial_dims": "dimensions",
    "activation": "activation",
    "modality": "modality",
    "axes": "orientation of volumes",
    "background": "whether label 0 is a background, which decisions and scores leave out",
}
SAME_PREPARATION = {"size": "size", "spacing": "spacing", "scaling": "scaling of intensities"}


@dataclass(frozen=True)
class Member:
    """A trained run, as its folder has it.

    Attributes:
        folder: of the run.
        config: its settings.
        preparation: how its images are resized and scaled.
        problem: what it was trained on, see ``predict.read_problem``.
        split: which case was used for what.
    """

    folder: Path
    config: RunConfig
    preparation: Preparation
    problem: dict[str, Any]
    split: Split


def check_members(members: Sequence[Member]) -> None:
    """Raise BadInput where the runs do not answer the same question at the same size.

    Intensities of CT are scaled by each run's own training cases, as it is with folds: each network gets its own.
    """
    first = members[0]
    for other in members[1:]:
        for name, what in SAME_PROBLEM.items():
            _same(first, other, what, first.problem[name], other.problem[name])
        for name, what in SAME_PREPARATION.items():
            _same(first, other, what, getattr(first.preparation, name), getattr(other.preparation, name))
        _same(first, other, "number of channels", len(first.preparation.mean), len(other.preparation.mean))
        _same(first, other, "activation", first.config.activation, other.config.activation)
    folders = [member.folder.resolve() for member in members]
    if len(set(folders)) < len(folders):
        raise BadInput("`runs` names a run twice, which would count it twice. Name each once.")


def _same(first: Member, other: Member, what: str, mine: Any, theirs: Any) -> None:
    if mine != theirs:
        raise BadInput(
            f"`runs` must answer the same question to be averaged: {first.folder} and {other.folder} differ in "
            f"{what}, {mine} and {theirs}. Predict with each on its own."
        )


def load_predictor(
    members: Sequence[Member], task: Task, *, device: str, flips: bool = False, overlap: float | None = None
) -> tuple[Predictor, Fabric]:
    """The network of one run, or the mean of several; with the device that they are on."""
    networks = []
    for member in members:
        fabric = make_fabric(member.config, Runtime(accelerator=device))  # type: ignore[arg-type]
        axes = flip_axes(member) if flips else ()
        share = _overlap(member, overlap)
        networks.append(
            load_network(
                member.config, task, member.preparation, member.folder, fabric=fabric, flips=axes, overlap=share
            )
        )
    return _joined(networks, task), networks[0].fabric


def _joined(networks: list[Network], task: Task) -> Predictor:
    return networks[0] if len(networks) == 1 else Ensemble(tuple(networks), task.sigmoid)


def flip_axes(member: Member) -> tuple[int, ...]:
    """The axes that the run's training mirrored; others would show the network what it has never seen."""
    axes = AUGMENTATIONS[member.config.augment].flip
    if not axes:
        raise BadInput(
            f"`flips`: {member.folder} was trained without mirroring (`augment={member.config.augment}`), so its "
            "network does not know mirrored images. Leave `flips` out."
        )
    return axes


def _overlap(member: Member, overlap: float | None) -> float:
    if overlap is None:
        return OVERLAP
    if not member.config.patch:
        raise BadInput(f"`overlap` is of windows, and the network of {member.folder} sees whole images. Leave it out.")
    if not 0 <= overlap < 1:
        raise BadInput(f"`overlap` is a share of the window, at least 0 and below 1, got {overlap:g}.")
    return overlap


def common_cases(members: Sequence[Member], subset: str) -> set[str]:
    """The names of the cases that every run has in this subset."""
    return set.intersection(*(set(getattr(member.split, subset)) for member in members))


def validation_of(members: Sequence[Member], what: str) -> tuple[Task, list[Case]]:
    """The validation cases that no run was trained on, opened as the first run had them; none where there are none.

    ``what`` they are needed for goes into the sentence that says that they cannot be read.
    """
    first = members[0]
    names = common_cases(members, "validation")
    try:
        task = make_task(first.config, OpenDatasets().open(first.config), first.split)
        return task, task.cases(tuple(name for name in first.split.validation if name in names))
    except BadInput as error:
        raise BadInput(
            f"{what} is fitted on the validation cases of {first.folder}, which cannot be read: {error}"
        ) from error


def ensemble_temperature(
    members: Sequence[Member], network: Predictor, *, decision: str, fabric: Fabric, log: Log
) -> float:
    """The temperature of a decision: of one run its own; of several one that fits their mean.

    Where the runs share no validation case, as folds do, it is the geometric mean of their own. What a run keeps is of
    its network as it scored the test cases: with flips or another overlap it is fitted anew, and not kept.
    """
    if len(members) == 1:
        return _own_temperature(members[0], network, decision, fabric=fabric, log=log)
    if not common_cases(members, "validation"):
        log("note: the runs share no validation case: the temperature is the geometric mean of their own")
        assert isinstance(network, Ensemble)
        pairs = zip(members, network.members, strict=True)
        own = [_own_temperature(member, alone, decision, fabric=fabric, log=log) for member, alone in pairs]
        return math.exp(sum(map(math.log, own)) / len(own))
    return _fitted(members, network, decision, fabric=fabric, log=log)


def _own_temperature(member: Member, network: Predictor, decision: str, *, fabric: Fabric, log: Log) -> float:
    if isinstance(network, Network) and not network.usual:
        return _fitted([member], network, decision, fabric=fabric, log=log)
    return run_temperature(member.folder, member.config, network, decision=decision, fabric=fabric, log=log)


def _fitted(members: Sequence[Member], network: Predictor, decision: str, *, fabric: Fabric, log: Log) -> float:
    task, cases = validation_of(members, "the temperature of decisions")
    if not cases:
        log("note: there are no validation cases, so the temperature of decisions is 1")
        return 1.0
    log(f"fitting the temperature of decisions on {counted(len(cases), 'validation case')}")
    scored, likely = fit_temperatures(task, sampled_pixels(task, network, cases, fabric=fabric))
    return likely if decision == SIZE else scored
