"""Every two losses with each other."""

import numpy as np

from sizewise.metrics.registry import find_metric
from sizewise.study.statistics.all_pairs import compare_pairs, tied_runs
from sizewise.study.statistics.setting_scores import SettingScores


def scores_of(present):
    values = np.random.default_rng(1).normal(0.7, 0.05, (3, 2, 12, 1))
    names = tuple(f"{n:02}" for n in range(12))
    return SettingScores("d", "m", find_metric("dsc"), ("A", "B", "C"), ("0", "1"), names, (1,), values, present)


def test_all_pairs_are_there_and_corrected_for_their_number():
    found = compare_pairs(scores_of(np.ones((3, 2), dtype=bool)))
    assert {(one.arm, one.reference) for one in found} == {("A", "B"), ("A", "C"), ("B", "C")}
    smallest = min(found, key=lambda one: one.p_value)
    assert smallest.p_holm == min(1.0, 3 * smallest.p_value)  # Holm's first step
    assert all(one.comparisons == 3 for one in found)


def test_pairs_of_others_and_pairs_without_a_common_seed_are_left_out():
    present = np.array([[True, False], [False, True], [True, True]])
    found = compare_pairs(scores_of(present), but={frozenset("BC")})
    assert [(one.arm, one.reference) for one in found] == [("A", "C")]


def test_runs_may_overlap_and_none_lies_in_another():
    apart = {frozenset(pair) for pair in ("ad", "ae", "be")}
    assert tied_runs("abcde", lambda one, other: frozenset((one, other)) not in apart) == [(0, 2), (1, 3), (2, 4)]
    assert tied_runs("abc", lambda one, other: False) == []
