"""Arranging scores: arms, no-values, groups, and what each case contributes."""

import numpy as np
import pytest
from small_tables import rows_of, scores_of

from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import Row, RunColumns
from sizewise.study.results import results_of
from sizewise.study.statistics.setting_scores import arrange

NO = np.nan


def test_without_empty_cells_a_case_contributes_its_mean_over_classes():
    scores = scores_of({"CE": [[[0.2, 0.4], [0.6, 1.0]]]})
    assert scores.contributions()[0, 0] == pytest.approx([0.3, 0.8])
    assert (scores.arms, scores.seeds, scores.cases, scores.classes) == (("CE",), ("0",), ("c000", "c001"), (1, 2))


def test_a_false_alarm_lowers_its_own_loss_and_a_true_negative_changes_nothing():
    """The target of the third case is empty: A leaves it empty (no value), B has a false alarm (0)."""
    scores = scores_of({"A": [[0.8, 0.6, NO]], "B": [[0.8, 0.6, 0.0]]})
    first, second = scores.contributions()[:, 0]
    # A: m = 0.7 over n = 2 of C = 3 cases: v = m + 3/2 (y − m) = 0.7 + 1.5·0.1, 0.7 − 1.5·0.1, and m for no value
    assert first == pytest.approx([0.85, 0.55, 0.7])
    assert second == pytest.approx([0.8, 0.6, 0.0])
    assert first.mean() == pytest.approx(0.7)
    assert (first - second).mean() == pytest.approx(0.7 - 1.4 / 3)  # the difference of the reported means


def test_a_missed_region_never_helps():
    found, missed = (scores_of({"A": [[0.8, 0.6, last]]}).contributions().mean() for last in (0.1, 0.0))
    assert missed < found


def test_classes_weigh_alike_however_many_cases_have_them():
    """Class 1 in three cases, mean 0.6; class 2 in one, 0.2: the score is 0.4, not the mean over cells."""
    scores = scores_of({"A": [[[0.5, 0.2], [0.6, NO], [0.7, NO]]]})
    assert scores.contributions().mean() == pytest.approx(0.4)


def test_a_class_that_no_target_has_is_left_out():
    """B has a false alarm of class 2, A has none: only B has a value, so the class is in no target."""
    scores = scores_of({"A": [[[0.5, NO], [0.7, NO]]], "B": [[[0.5, 0.0], [0.7, NO]]]})
    assert scores.classes == (1,)
    assert "[2]" in scores.notes[0]
    assert scores.contributions().mean(axis=(1, 2)) == pytest.approx([0.6, 0.6])


def test_groups_keep_the_mean_and_add_up():
    """Cases 0.1, 0.3 | 0.8 of two patients, mean 0.4: v_g = 0.4 + 2/3 · (−0.3 − 0.1), 0.4 + 2/3 · 0.4."""
    scores = scores_of({"A": [[0.1, 0.3, 0.8]]}, cases=["x", "y", "z"])
    grouped = scores.grouped({"x": "p1", "y": "p1"})[0, 0]
    assert grouped == pytest.approx([0.4 - 0.8 / 3, 0.4 + 0.8 / 3])
    assert grouped.mean() == pytest.approx(0.4)
    assert np.array_equal(scores.grouped(None), scores.contributions())


def test_missing_runs_are_marked_and_missing_cases_are_left_out():
    rows = rows_of({"A": [[0.1, 0.2], [0.3, 0.4]], "B": [[0.5, 0.6], [0.7, 0.8]]})
    without_run = [row for row in rows if row.of.run != "B-1"]
    scores = arrange(results_of(without_run), data="d", model="m")
    assert scores.present.tolist() == [[True, True], [True, False]]
    assert np.isnan(scores.contributions()[1, 1]).all()
    without_case = [row for row in rows if (row.of.run, row.case) != ("B-1", "c001")]
    scores = arrange(results_of(without_case), data="d", model="m")
    assert scores.cases == ("c000",)
    assert "1 of 2 cases" in scores.notes[0]


def test_arms_carry_the_weight_where_a_loss_has_several():
    rows = []
    for loss, weight in (("CE", ""), ("RCE", "0.1"), ("RCE", "1.0"), ("Dice", "1.0")):
        rows.append(Row(RunColumns("r", "d", "m", loss, weight, "0"), "a", 1, "dsc", 0.5))
    assert arrange(results_of(rows), data="d", model="m").arms == ("CE", "RCE λ=0.1", "RCE λ=1.0", "Dice")
    elsewhere = [Row(RunColumns(run), "a", 1, "dsc", 0.5) for run in ("mine", "theirs")]
    assert arrange(results_of(elsewhere), data="", model="").arms == ("mine", "theirs")


def test_a_setting_that_lacks_a_weight_has_the_names_of_the_whole_table():
    """Of two data sets the second was interrupted: one λ there, two in the first. Its arm is still «RCE λ=0.1»."""
    rows = [Row(RunColumns("r", "a", "m", "RCE", weight, "0"), "x", 1, "dsc", 0.5) for weight in ("0.1", "1")]
    rows.append(Row(RunColumns("r", "b", "m", "RCE", "0.1", "0"), "x", 1, "dsc", 0.5))
    assert arrange(results_of(rows), data="b", model="m").arms == ("RCE λ=0.1",)


def test_seeds_are_in_numerical_order_and_errors_lose_their_sign():
    rows = [Row(RunColumns("r", "d", "m", "CE", "", s), "a", 1, "size_error", v) for s, v in (("10", -0.2), ("9", 0.1))]
    scores = arrange(results_of(rows), data="d", model="m", metric="size_error")
    assert scores.seeds == ("9", "10")
    assert scores.values.ravel().tolist() == [0.1, 0.2]


def test_rows_that_cannot_be_arranged_get_a_sentence():
    rows = rows_of({"A": [[0.5]]})
    with pytest.raises(BadInput, match=r"two values of dsc for loss 'A'.*case 'c000', class 1"):
        arrange(results_of(rows + rows), data="d", model="m")
    with pytest.raises(BadInput, match="no 'iou' of data 'd'"):
        arrange(results_of(rows), data="d", model="m", metric="iou")
    with pytest.raises(BadInput, match="`metric` must be one of dsc"):
        arrange(results_of(rows), data="d", model="m", metric="dice")
    with pytest.raises(BadInput, match="one of the losses A, got 'CE'"):
        arrange(results_of(rows), data="d", model="m").arm("CE")
