import numpy as np
import pytest

from sizewise.metrics.cases_csv import Row, RunColumns
from sizewise.report.means import class_means, overall_means
from sizewise.report.scores import label_results
from sizewise.report.true_sizes import true_sizes
from sizewise.study.results import results_of


def rows_of(values, *, loss="A", seed="0"):
    of = RunColumns(run=f"{loss}{seed}", data="d", model="m", loss=loss, seed=seed)
    return [Row(of, case, class_id, metric, value) for (case, class_id, metric), value in values.items()]


def size(case, true, predicted):
    return {(case, 1, "size_error"): predicted - true, (case, 1, "true_proportion"): true}


def test_true_sizes_stand_beside_the_errors_of_the_same_run_and_case():
    """An empty target has the size 0, and a prediction of exactly the right size has one like any other."""
    first = size("a", 0.2, 0.3) | size("empty", 0.0, 0.05)
    second = size("empty", 0.0, 0.0) | size("a", 0.2, 0.2)
    scores = label_results(results_of(rows_of(first) + rows_of(second, loss="B")))
    sizes = true_sizes(scores)
    found = {}
    for arm, case, true, error in zip(sizes.part.arm, sizes.part.case, sizes.true, sizes.part.value, strict=True):
        found[scores.arm_names[arm], scores.cases[case]] = (true, error)
    assert found == {
        ("A", "a"): (0.2, pytest.approx(0.1)),
        ("A", "empty"): (0.0, 0.05),
        ("B", "empty"): (0.0, 0.0),
        ("B", "a"): (0.2, 0.0),
    }
    assert sizes.regions == [(0, 1)]


def test_a_table_of_an_earlier_version_has_no_true_sizes():
    rows = [row for row in rows_of(size("a", 0.2, 0.3)) if row.metric != "true_proportion"]
    assert len(true_sizes(label_results(results_of(rows))).true) == 0
    resumed = true_sizes(label_results(results_of([*rows, *rows_of(size("a", 0.2, 0.1), seed="1")])))
    assert (len(resumed.true), resumed.missing) == (1, 1)  # a study that a later version went on with
    assert "1 values of earlier versions, without true sizes, are left out" in resumed.note


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
    assert mean.text(scale=100) == "60.00 ± 28.28"


def test_rows_without_a_loss_are_called_after_their_run():
    of = [RunColumns(run="nnU-Net"), RunColumns(run="ours")]
    scores = label_results(results_of(Row(one, "a", 1, "dsc", 0.5) for one in of))
    assert scores.arm_names == ("nnU-Net", "ours")
    assert scores.settings == ["all cases"]
