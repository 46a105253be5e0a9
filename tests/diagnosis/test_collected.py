import numpy as np
import pytest
from diagnosis.test_case_measure import BINARY, P

from sizewise.diagnosis.case_measure import DiagnosedCase, measure_case
from sizewise.diagnosis.collected import collect, gains
from sizewise.diagnosis.summary import summarise


def case(name, target, p=P):
    both = np.stack([1 - p, p])
    return measure_case(DiagnosedCase(name, both.argmax(0), np.array([target]), both), BINARY)


def test_gains_are_means_of_differences_with_their_error():
    found = collect([case("a", [1, 1, 0, 1, 0, 0]), case("b", [1, 1, 1, 0, 0, 0])])
    got = gains(found)
    # as predicted 4/6 and 1, for Dice 6/7 and 6/7
    assert got["now"].dsc == pytest.approx((4 / 6 + 1) / 2)
    assert got["dice"].gain == pytest.approx((6 / 7 - 4 / 6 + 6 / 7 - 1) / 2)
    each = np.array([6 / 7 - 4 / 6, 6 / 7 - 1])
    assert got["dice"].error == pytest.approx(each.std(ddof=1) / np.sqrt(2))
    assert not got["dice"].shown


def test_an_answer_that_raises_no_false_alarm_counts_as_right():
    found = collect([case("a", [0] * 6)])
    got = gains(found)
    assert got["now"].dsc == 0
    assert got["sizes"].dsc == 1  # the true size is 0: nothing is kept


def test_sums_do_not_grow_and_sizes_hold_every_case():
    cases = [case("a", [1, 1, 0, 1, 0, 0]), case("b", [0] * 6, np.zeros_like(P)), case("c", [1] * 6)]
    found = collect(cases)
    predicted, true = found.sizes(1)
    np.testing.assert_allclose(predicted * 6, [3, 0, 3])
    np.testing.assert_allclose(true * 6, [3, 0, 6])
    (one,) = summarise(found, {1: "lesion"})
    assert (one.name, one.cases) == ("lesion", 2)
    assert one.bias == pytest.approx(-3 / 6 / 3)
    assert one.relative == pytest.approx(-3 / 9)
    assert one.expected_size == pytest.approx(2 * 2.6 / 9)
    assert found.classes[1].histogram.pixels.sum() == 18
    assert one.thresholds.now == pytest.approx((4 / 6 + 6 / 9) / 2)
    assert one.thresholds.half == pytest.approx(one.thresholds.best_dsc / 2)
    assert one.thresholds.best_dsc >= one.thresholds.now - 1e-12


def test_a_class_that_a_case_does_not_hold_has_size_0_there():
    from sizewise.diagnosis.case_measure import Problem

    maps = [DiagnosedCase("a", np.array([[1, 2]]), np.array([[1, 2]])), DiagnosedCase("b", *[np.array([[1, 0]])] * 2)]
    found = collect(measure_case(one, Problem()) for one in maps)
    assert found.sizes(2)[1].tolist() == [0.5, 0]
    assert np.isnan(found.dsc(2)["now"]).tolist() == [False, True]
