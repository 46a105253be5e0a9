"""What a study can show, before it is run: its units, the smallest difference within its reach, and what would help."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sizewise.data.case_groups import count_groups
from sizewise.data.dataset import Dataset
from sizewise.errors import BadInput
from sizewise.json_files import check_kinds, read_json
from sizewise.study.grid import PlannedRun
from sizewise.study.results import read_results
from sizewise.study.row_labels import label_rows
from sizewise.study.statistics.components import Components, components
from sizewise.study.statistics.paired import FEWEST_GROUPS, FEWEST_SEEDS, compare
from sizewise.study.statistics.sample_size import smallest_difference
from sizewise.study.statistics.setting_scores import arrange
from sizewise.study.study_folder import run_status
from sizewise.train.config import Runtime
from sizewise.train.run_folder import is_finished
from sizewise.train.timed_steps import time_steps

# Variances of the difference of two losses in DSC: the usual study of benchmarks/statistics_calibration.py, whose seeds
# spread as those of the Kvasir-SEG runs in benchmarks/results/quality-h200.csv (0.8 points for one loss).
TYPICAL = Components(seed=0.0130**2, group=0.0562**2, noise=0.0953**2)
TYPICAL_SOURCE = "typical spreads: 0.8 DSC points between seeds, as on Kvasir-SEG"
MORE_SEEDS = (3, 5, 10)
FOLDS = 5
LOSSES, SEEDS = ("CE", "DiceCE", "JaccardCE", "RCE"), 3  # of the study that a data set alone is looked at for


@dataclass(frozen=True)
class Outlook:
    """One data set with one network.

    Attributes:
        data: the data set.
        model: the network.
        cases: that are tested, over all folds.
        groups: that these are; what the statistics count.
        all_groups: of all labelled cases.
        arms: losses, each with its λ and τ.
        seeds: of each.
        folds: of a cross-validation; 0: one split.
        comparisons: that the study makes in all, over all its data sets.
        parts: variances of a difference, and
        source: where they come from.
        runs: that the study makes here, and
        finished: how many of them are done.
        run_seconds: that a finished run took, in the middle, or that the steps of one would take; None: not known.
        memory_mib: that a run took at most; None: not known.
        timed: whether both are from a few timed steps.
        notes: of the data set, such as how its cases are grouped.
    """

    data: str
    model: str
    cases: int
    groups: int
    all_groups: int
    arms: int
    seeds: int
    folds: int
    comparisons: int
    parts: Components
    source: str
    runs: int
    finished: int = 0
    run_seconds: float | None = None
    memory_mib: float | None = None
    timed: bool = False
    notes: tuple[str, ...] = ()

    def smallest(self, *, seeds: int = 0, groups: int = 0) -> float | None:
        """The smallest difference that is shown in 80 % of such studies; None: nothing can be concluded at all."""
        seeds, groups = seeds or self.seeds, groups or self.groups
        if seeds < FEWEST_SEEDS or groups < FEWEST_GROUPS or self.arms < 2:
            return None
        level = 0.05 / max(self.comparisons, 1)
        return smallest_difference(self.parts, seeds=seeds, groups=groups, level=level, arms=self.arms)


def look_ahead(runs: Sequence[PlannedRun], folder: Path, *, timed_on: Runtime | None = None) -> list[Outlook]:
    """What a study can show on each data set with each network.

    Args:
        runs: all of the study.
        folder: of the study, which may hold finished runs: then spreads, hours and memory are theirs.
        timed_on: where a few steps are timed of what has no finished run; None: nowhere.
    """
    settings: dict[tuple[str, str], list[PlannedRun]] = {}
    for run in runs:
        settings.setdefault((run.dataset.name, run.config.model), []).append(run)
    arms = {key: len({_arm(run) for run in of}) for key, of in settings.items()}
    comparisons = sum(count - 1 for count in arms.values())
    found = []
    for (data, model), of in settings.items():
        tested = {name for run in of for name in run.run.task.split.test}
        labelled = [case.name for case in of[0].dataset.cases if case.target]
        done = [folder / "runs" / run.name for run in of if is_finished(folder / "runs" / run.name)]
        parts, source = _spreads(done)
        cost = time_steps(of[0].run, timed_on) if timed_on is not None and not done else None
        found.append(
            Outlook(
                data=data,
                model=model,
                cases=len(tested),
                groups=count_groups(tested, _groups(of[0].dataset)),
                all_groups=count_groups(labelled, _groups(of[0].dataset)),
                arms=arms[data, model],
                seeds=len({run.config.seed for run in of}),
                folds=of[0].config.folds,
                comparisons=comparisons,
                parts=parts,
                source=source,
                runs=len(of),
                finished=len(done),
                run_seconds=_seconds(done) if cost is None else cost.training_seconds,
                memory_mib=max(_memory(done), default=None) if cost is None else cost.memory_mib,
                timed=cost is not None,
                notes=of[0].dataset.notes,
            )
        )
    return found


def look_at_data(dataset: Dataset, tested: Iterable[str], *, folds: int = 0) -> Outlook:
    """The same for a data set and a split of it, and a study of LOSSES with SEEDS seeds on one network."""
    tested, arms = list(tested), len(LOSSES)
    groups = _groups(dataset)
    labelled = [case.name for case in dataset.cases if case.target]
    return Outlook(
        data=dataset.name,
        model="",
        cases=len(tested),
        groups=count_groups(tested, groups),
        all_groups=count_groups(labelled, groups),
        arms=arms,
        seeds=SEEDS,
        folds=folds,
        comparisons=arms - 1,
        parts=TYPICAL,
        source=TYPICAL_SOURCE,
        runs=arms * SEEDS * max(folds, 1),
    )


def _groups(dataset: Dataset) -> dict[str, str]:
    return {case.name: case.group for case in dataset.cases if case.group}


def _arm(run: PlannedRun) -> tuple[object, ...]:
    return run.config.loss, run.config.weight, run.config.loss_options


def _spreads(done: Sequence[Path]) -> tuple[Components, str]:
    """Variances from the finished runs of a setting, where they can be had, else the typical ones."""
    try:
        results = read_results(*(one / "cases.csv" for one in done))
        ((data, model),) = label_rows(results).settings
        scores = arrange(results, data=data, model=model)
        pairs = [one for one in compare(scores, reference=scores.arms[0]) if not one.refused]
    except (BadInput, ValueError):  # none is finished, or they have nothing in common yet
        pairs = []
    if not pairs:
        return TYPICAL, TYPICAL_SOURCE
    mean = np.mean([components(one.squares) for one in pairs], axis=0)
    return Components(*map(float, mean)), f"the {len(done)} runs that are finished"


def _seconds(done: Sequence[Path]) -> float | None:
    return float(np.median([run_status(one).seconds for one in done])) if done else None


def _memory(done: Sequence[Path]) -> list[float]:
    found = []
    for file in (one / "cost.json" for one in done):
        with contextlib.suppress(BadInput):  # an outlook can do without
            cost = {"peak_memory_mib": 0} | read_json(file)
            check_kinds(cost, {"peak_memory_mib": float}, file)
            found.append(float(cost["peak_memory_mib"]))
    return found
