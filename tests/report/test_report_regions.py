import numpy as np
import pytest

from sizewise.metrics.cases_csv import Row, RunColumns
from sizewise.report.regions import region_sizes
from sizewise.report.scores import label_results
from sizewise.report.summary import class_means, overall_means
from sizewise.study.results import results_of


def rows_of(values, *, loss="A", seed="0"):
    of = RunColumns(run=f"{loss}{seed}", data="d", model="m", loss=loss, seed=seed)
    return [Row(of, case, class_id, metric, value) for (case, class_id, metric), value in values.items()]


def size(case, true, predicted):
    relative = (predicted - true) / true if true else None
    return {(case, 1, "size_error"): predicted - true, (case, 1, "relative_size_error"): relative}


def test_true_sizes_come_back_from_the_two_errors():
    first = size("a", 0.2, 0.3) | size("b", 0.4, 0.4) | size("empty", 0.0, 0.05) | size("lost", 0.1, 0.1)
    second = size("a", 0.2, 0.1) | size("b", 0.4, 0.5) | size("empty", 0.0, 0.0) | size("lost", 0.1, 0.1)
    scores = label_results(results_of(rows_of(first) + rows_of(second, loss="B")))
    sizes = region_sizes(scores)
    found = {}
    for entry, case, true, error in zip(sizes.part.entry, sizes.part.case, sizes.true, sizes.part.value, strict=True):
        found[scores.entries[entry], scores.cases[case]] = (true, error)
    assert found["A", "a"] == pytest.approx((0.2, 0.1))
    assert found["A", "b"] == pytest.approx((0.4, 0.0))  # exactly right: the truth is known from B
    assert found["B", "b"] == pytest.approx((0.4, 0.1))
    assert found["A", "empty"] == pytest.approx((0.0, 0.05))
    assert ("A", "lost") not in found  # exactly right in every run: 0/0 everywhere
    assert sizes.unknown == 2


def test_means_are_over_cases_then_classes_then_seeds():
    # class 1: (0.5 + 0.7) / 2 = 0.6, class 2: 0.2 alone, since b has no value; mean over classes 0.4
    first = {("a", 1, "dsc"): 0.5, ("b", 1, "dsc"): 0.7, ("a", 2, "dsc"): 0.2, ("b", 2, "dsc"): None}
    # 0.8 and 0.8: 0.8
    second = {("a", 1, "dsc"): 0.8, ("b", 1, "dsc"): 0.8, ("a", 2, "dsc"): 0.8, ("b", 2, "dsc"): None}
    scores = label_results(results_of(rows_of(first) + rows_of(second, seed="1")))
    mean = overall_means(scores, "dsc")[0, 0]
    assert mean.mean == pytest.approx((0.4 + 0.8) / 2)
    assert mean.std == pytest.approx(np.sqrt(2 * 0.2**2))  # divisor S − 1 = 1
    assert class_means(scores, "dsc")[0, 0, 2].mean == pytest.approx(0.5)
    assert mean.percent() == "60.00 ± 28.28"


def test_rows_without_a_loss_are_called_after_their_run():
    of = [RunColumns(run="nnU-Net"), RunColumns(run="ours")]
    scores = label_results(results_of(Row(one, "a", 1, "dsc", 0.5) for one in of))
    assert scores.entries == ["nnU-Net", "ours"]
    assert scores.arenas == ["all cases"]
