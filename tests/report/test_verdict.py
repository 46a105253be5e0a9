"""Which arm to take, and how sure that is."""

from types import SimpleNamespace

import pytest

from sizewise.metrics.registry import find_metric
from sizewise.report.standing import Standing
from sizewise.report.verdict import advice


def comparison(arm, gain, *, refused=False, metric="dsc"):
    how = find_metric(metric)
    return SimpleNamespace(arm=arm, gain=gain, estimate=how.sign * gain, metric=how, refused=refused)


@pytest.mark.parametrize(
    ("better", "found", "said"),
    [
        (["A"], [("A", 0.02), ("B", -0.01)], "Take A: it has the best mean too."),
        (["A", "B"], [("A", 0.01), ("B", 0.03)], "Take B: it has the best mean too."),
        (["A"], [("A", 0.01), ("B", 0.03)], "Take A; B has the best mean, but is not shown better than CE."),
        ([], [("A", 0.018), ("B", 0.01)], "A has the best mean, by 1.8 DSC points, which may be luck."),
        ([], [("A", -0.02), ("B", -0.01)], "CE has the best mean, so there is no reason to leave it."),
        ([], [], ""),
    ],
)
def test_what_to_take(better, found, said):
    assert advice(better, "CE", [comparison(*one) for one in found]) == said


def test_nothing_is_advised_where_nothing_could_be_tested():
    assert advice([], "CE", [comparison("A", 0.2, refused=True)]) == ""


def test_less_is_better_for_distances():
    found = [comparison("A", 1.5, metric="hd95"), comparison("B", -2.0, metric="hd95")]
    assert advice([], "CE", found).startswith("A has the best mean, by 1.5")


def test_the_best_is_set_against_the_others_too():
    found = [comparison("A", 0.03), comparison("B", 0.01), comparison("C", 0.02)]
    words = {("A", "CE"): "better", ("A", "B"): "better", ("A", "C"): "not shown"}
    standing = Standing("CE", dict.fromkeys(("A", "C", "B", "CE"), 0.5), {}, words, ())
    said = advice(["A"], "CE", found, standing)
    assert said == (
        "Take A: it has the best mean too, and is shown better than B as well; it is not shown better than C."
    )
