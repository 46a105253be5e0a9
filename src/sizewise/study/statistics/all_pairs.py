"""Every two losses with each other, and the runs of losses among which no two can be told apart."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from sizewise.study.statistics.paired import Comparison, compare_pair
from sizewise.study.statistics.setting_scores import SettingScores
from sizewise.study.statistics.signed_rank import holm


def compare_pairs(
    scores: SettingScores, *, groups: Mapping[str, str] | None = None, but: Collection[frozenset[str]] = ()
) -> list[Comparison]:
    """Compare every two arms of a data set and model, corrected for as many; pairs without a common seed are left out.

    Args:
        scores: what ``arrange`` returned.
        groups: the group (patient, video) of each case.
        but: pairs of names that somebody else compares.
    """
    found = []
    for first, second in combinations(range(len(scores.arms)), 2):
        names = frozenset((scores.arms[first], scores.arms[second]))
        if names not in but and (scores.present[first] & scores.present[second]).any():
            found.append(compare_pair(scores, first, second, groups))
    corrected = holm(np.array([each.p_value for each in found]))
    return [replace(each, p_holm=float(p), comparisons=len(found)) for each, p in zip(found, corrected, strict=True)]


def tied_runs(ordered: Sequence[str], tied: Callable[[str, str], bool]) -> list[tuple[int, int]]:
    """The longest runs of neighbours in which every two are tied, as (first, last) places; a run has two at least.

    >>> apart = {frozenset("ac"), frozenset("ad")}
    >>> tied_runs("abcd", lambda one, other: frozenset((one, other)) not in apart)
    [(0, 1), (1, 3)]
    """
    runs: list[tuple[int, int]] = []
    for first in range(len(ordered)):
        last = first
        while last + 1 < len(ordered) and all(tied(one, ordered[last + 1]) for one in ordered[first : last + 1]):
            last += 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs
