"""The evidence that ships with the package: two small tables, one line for each set and one for each arm on a set.

``sets.csv`` has the features of a set's training masks and what a run took; ``arms.csv`` has the scores of each loss at
each λ and decision. benchmarks/evidence/aggregate.py writes both from the scores of every case.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from sizewise.advice.features import NAMES, Features
from sizewise.files import write_whole
from sizewise.metrics.arms import Arm
from sizewise.metrics.cases_csv import ARGMAX

FEWEST_SEEDS = 2  # of an arm that counts; with fewer luck and loss are the same thing


@dataclass(frozen=True)
class ArmScore:
    """One loss at one λ with one decision, on one set. Scores are mean DSC over the test cases, from 0 to 1.

    Attributes:
        loss: by name.
        weight: λ as text; empty where there is none.
        decision: how labels were decided.
        seeds: that were run.
        dsc: the mean over seeds.
        std: over seeds; None with one.
        gain: over the set's reference, on the seeds that both have; the reference's own is 0.
        low, high: its 95 % interval; None where there is too little for one.
        decided: the gain over argmax of the same networks, with
        decided_low, decided_high: its interval; None of argmax itself.
        size_error: mean of |predicted − true share|.
        component_recall: the share of true components that are met, and
        component_precision: the share of predicted ones that meet one; None where they were not scored.
        validation: the best mean DSC on validation cases, where λ is chosen; the mean over seeds that all λ have.
    """

    loss: str
    weight: str
    decision: str
    seeds: int
    dsc: float
    std: float | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    decided: float | None = None
    decided_low: float | None = None
    decided_high: float | None = None
    size_error: float | None = None
    component_recall: float | None = None
    component_precision: float | None = None
    validation: float | None = None

    @property
    def kind(self) -> "Kind":
        """Its loss and decision, whatever λ."""
        return Kind(self.loss, self.decision)

    @property
    def arm(self) -> Arm:
        """As tables name it."""
        return Arm(self.loss, self.weight, decision=self.decision)


@dataclass(frozen=True, order=True)
class Kind:
    """What can be advised: a loss and a decision. λ comes after it."""

    loss: str
    decision: str = ARGMAX


@dataclass(frozen=True)
class EvidenceSet:
    """A data set on which losses were compared.

    Attributes:
        name: of the data set.
        features: of its regions.
        arms: the scores.
        model: the network.
        recipe: of the training.
        cases: that were tested.
        steps: of a run; None: not known.
        run_seconds: that the training of a run took, in the middle, and
        machine: on what; empty: not known.
        own: whether it is a study of the user's.
    """

    name: str
    features: Features
    arms: tuple[ArmScore, ...]
    model: str = ""
    recipe: str = ""
    cases: int = 0
    steps: int | None = None
    run_seconds: float | None = None
    machine: str = ""
    own: bool = False

    @property
    def compares(self) -> bool:
        """Whether it has two arms that can be compared: a set with one seed, or one loss, says nothing."""
        return len(self.chosen()) > 1

    def gains(self) -> dict[Kind, float]:
        """How far each is above the set's reference on the seeds that both have; its mean where that is not known."""
        arms = self.chosen()
        if any(arm.gain is None for arm in arms.values()):
            return {kind: arm.dsc for kind, arm in arms.items()}
        return {kind: arm.gain or 0.0 for kind, arm in arms.items()}

    def chosen(self) -> dict[Kind, ArmScore]:
        """By loss and decision, the arm at the λ that was chosen: of those with most seeds, the best on validation."""
        best: dict[Kind, ArmScore] = {}
        for arm in (one for one in self.arms if one.seeds >= FEWEST_SEEDS):
            other = best.get(arm.kind)
            if other is None or (arm.seeds, arm.validation or 0.0) > (other.seeds, other.validation or 0.0):
                best[arm.kind] = arm
        return best


_SET_COLUMNS = ("name", "model", "recipe", "cases", "steps", "run_seconds", "machine", *NAMES)
_ARM_COLUMNS = tuple(field.name for field in fields(ArmScore))
_Read = TypeVar("_Read")


def read_evidence(folder: Path | None = None) -> tuple[EvidenceSet, ...]:
    """The sets of the package, or of a folder with the two tables.

    >>> all(one.features.classes for one in read_evidence())
    True
    """
    text = {
        name: (files("sizewise.advice") if folder is None else folder).joinpath(name).read_text(encoding="utf-8")
        for name in ("sets.csv", "arms.csv")
    }
    arms: dict[str, list[ArmScore]] = {}
    for row in csv.DictReader(io.StringIO(text["arms.csv"])):
        arms.setdefault(row["name"], []).append(_typed(ArmScore, row))
    return tuple(
        EvidenceSet(
            name=row["name"],
            features=_typed(Features, row),
            arms=tuple(arms.get(row["name"], ())),
            model=row["model"],
            recipe=row["recipe"],
            cases=int(row["cases"]),
            steps=int(row["steps"]) if row["steps"] else None,
            run_seconds=float(row["run_seconds"]) if row["run_seconds"] else None,
            machine=row["machine"],
        )
        for row in csv.DictReader(io.StringIO(text["sets.csv"]))
    )


def write_evidence(sets: Iterable[EvidenceSet], folder: Path) -> None:
    """Both tables, with as many digits as mean something."""
    sets = sorted(sets, key=lambda one: one.name)
    of_sets = [[_cell(getattr(one.features if name in NAMES else one, name)) for name in _SET_COLUMNS] for one in sets]
    of_arms = [[one.name, *(_cell(getattr(arm, name)) for name in _ARM_COLUMNS)] for one in sets for arm in one.arms]
    write_whole(folder / "sets.csv", _lines(_SET_COLUMNS, of_sets))
    write_whole(folder / "arms.csv", _lines(("name", *_ARM_COLUMNS), of_arms))


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _typed(kind: type[_Read], row: dict[str, str]) -> _Read:
    """A dataclass of text and numbers from the cells of a line; an empty cell of a number is None."""
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        cell = row[field.name]
        if field.type is str:
            values[field.name] = cell
        else:
            values[field.name] = None if not cell else int(cell) if field.type is int else float(cell)
    return kind(**values)
