"""Decisions against argmax of the same runs: by hand, as a family of their own, and in a study that is not complete."""

import numpy as np
import pytest
from small_tables import rows_of

from sizewise.metrics.arms import Arm
from sizewise.metrics.cases_csv import Row
from sizewise.study.results import results_of
from sizewise.study.row_labels import label_rows
from sizewise.study.statistics.interval import interval
from sizewise.study.statistics.paired import compare
from sizewise.study.statistics.setting_scores import arrange
from sizewise.study.statistics.signed_rank import holm
from sizewise.study.statistics.within_runs import compare_decisions, same_weights


def drawn(*, seeds=3, cases=30, luck=0.05):
    """Losses whose runs differ by luck, and a decision that adds about a point to each run."""
    random = np.random.default_rng(0)
    values = {}
    for loss, gain in (("CE", 0.01), ("RCE", 0.0)):
        plain = 0.7 + luck * random.normal(size=(seeds, 1)) + 0.05 * random.normal(size=(seeds, cases))
        values[loss] = {"argmax": plain, "dice": plain + gain + 0.005 * random.normal(size=plain.shape)}
    return values


def table(values, *, data="d"):
    rows = []
    for loss, by_decision in values.items():
        for decision, runs in by_decision.items():
            rows += [
                Row(
                    type(row.of)(**(vars(row.of) | {"decision": decision})),
                    row.case,
                    row.class_id,
                    row.metric,
                    row.value,
                )
                for row in rows_of({loss: runs}, data=data)
            ]
    return rows


def arranged(rows, *data):
    results = results_of(rows)
    labels = label_rows(results)
    return [arrange(results, data=one, model="m", labels=labels) for one in data], same_weights(
        labels.names, labels.arms
    )


def test_each_decision_is_compared_with_its_own_argmax():
    values = drawn()
    scores, argmax_of = arranged(table(values), "d")
    assert argmax_of == {"CE (dice)": "CE", "RCE (dice)": "RCE"}
    found = compare_decisions(*scores, argmax_of=argmax_of)
    assert [(one.arm, one.reference) for one in found] == [("CE (dice)", "CE"), ("RCE (dice)", "RCE")]
    for one in found:
        by_hand = interval(values[one.reference]["dice"] - values[one.reference]["argmax"])
        assert one.estimate == pytest.approx(float(by_hand.estimate))
        assert (one.low, one.high) == (pytest.approx(float(by_hand.low)), pytest.approx(float(by_hand.high)))
        assert one.comparisons == 2
    assert [one.p_holm for one in found] == pytest.approx(holm(np.array([one.p_value for one in found])))
    assert [one.shown for one in found] == [True, False]


def test_the_luck_of_training_does_not_blur_it():
    """The same gain of one point: shown within runs, and lost between runs whose luck is five points."""
    values = drawn()
    scores, argmax_of = arranged(table(values), "d")
    within = compare_decisions(*scores, argmax_of=argmax_of)[0]
    between = next(one for one in compare(*scores, reference="RCE") if one.arm == "CE")
    assert within.high - within.low < 0.2 * (between.high - between.low)


def test_several_data_sets_are_one_family():
    rows = table(drawn(), data="a") + table({"CE": drawn()["CE"]}, data="b")
    scores, argmax_of = arranged(rows, "a", "b")
    found = compare_decisions(*scores, argmax_of=argmax_of)
    assert [(one.data, one.arm) for one in found] == [("a", "CE (dice)"), ("a", "RCE (dice)"), ("b", "CE (dice)")]
    assert {one.comparisons for one in found} == {3}


def test_what_is_missing_is_left_out():
    values = drawn()
    values["CE"]["dice"] = values["CE"]["dice"][:2]  # interrupted before the last seed
    rows = [row for row in table(values) if (row.of.loss, row.of.decision) != ("RCE", "argmax")]
    scores, argmax_of = arranged(rows, "d")
    (one,) = compare_decisions(*scores, argmax_of=argmax_of)
    assert (one.arm, one.seeds) == ("CE (dice)", 2)
    assert compare_decisions(*scores, argmax_of={}) == []


def test_arms_of_other_weights_are_not_the_same():
    arms = [
        Arm("RCE", "0.1"),
        Arm("RCE", "1", decision="argmax"),
        Arm("RCE", "1", decision="iou"),
        Arm("CE", decision="iou"),
    ]
    assert same_weights(["a", "b", "c", "d"], arms) == {"c": "b"}
