"""Scores of label maps that a network just made, beside the device that makes the next ones."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sizewise.metrics.case import RegionScore, score_case, score_channels
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.parallel import available_cores, ctrl_c_waits, map_ahead, worker_pool

WORTH_A_POOL = 200_000_000  # pixels times classes: less is scored in the time that starting processes takes


@dataclass(frozen=True)
class LabelMaps:
    """A case to score.

    Attributes:
        case: its name.
        predicted: (*S) class ids, or (C, *S) of 0 and 1.
        target: likewise.
        spacing: mm.
        decision: how the predicted labels were decided.
    """

    case: str
    predicted: np.ndarray
    target: np.ndarray
    spacing: tuple[float, ...]
    decision: str = ARGMAX

    def named(self) -> "Named":
        """What the scores are of."""
        return Named(self.case, self.decision)


class Named(NamedTuple):
    """Whose scores they are: a case under one decision."""

    case: str
    decision: str


def score_label_maps(
    maps: Iterable[LabelMaps],
    *,
    expected: int,
    classes: Sequence[int],
    nsd_tolerance: float,
    ignore_index: int | None,
    jobs: int = 0,
) -> Iterator[tuple[Named, list[RegionScore]]]:
    """Score cases as they come; with enough of them, in processes, so that whoever makes them need not wait.

    Args:
        maps: the cases.
        expected: how many there will be.
        classes: the ids to score; of multi-label maps every channel is scored.
        nsd_tolerance: mm.
        ignore_index: target pixels that count for nothing.
        jobs: processes; 0: one per core.

    >>> square = np.zeros((8, 8), np.uint8)
    >>> square[2:5, 2:5] = 1
    >>> maps = [LabelMaps("a", square, square, (1.0, 1.0))]
    >>> scores = dict(score_label_maps(maps, expected=1, classes=[1], nsd_tolerance=1.0, ignore_index=None))
    >>> scores["a", "argmax"][0].values()["dsc"]
    1.0
    """
    iterator = iter(maps)
    first = next(iterator, None)
    if first is None:
        return
    jobs = jobs or available_cores()
    options = (tuple(classes), nsd_tolerance, ignore_index)
    everyone = itertools.chain([first], iterator)
    if jobs == 1 or first.target.size * len(classes) * expected < WORTH_A_POOL:
        # most of the work lets go of the interpreter: threads hide it behind whoever makes the maps
        yield from map_ahead(lambda one: (one.named(), _score(one, *options)), everyone, threads=jobs)
        return
    # spawned: the parent holds a device and threads, which a fork would not survive
    with worker_pool(min(jobs, expected), "spawn") as pool:
        waiting = []
        for one in everyone:
            with ctrl_c_waits():  # spawned with the first of them
                waiting.append((one.named(), pool.submit(_score, one, *options)))
        for named, future in waiting:
            yield named, future.result()


def _score(
    maps: LabelMaps, classes: Sequence[int], nsd_tolerance: float, ignore_index: int | None
) -> list[RegionScore]:
    if maps.target.ndim > len(maps.spacing):
        return score_channels(
            maps.predicted, maps.target, spacing=maps.spacing, nsd_tolerance=nsd_tolerance, ignore_index=ignore_index
        )
    return score_case(
        maps.predicted,
        maps.target,
        classes=classes,
        spacing=maps.spacing,
        nsd_tolerance=nsd_tolerance,
        ignore_index=ignore_index,
    )
