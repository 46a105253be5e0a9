import pytest

from sizewise.metrics.cases_csv import Row, RunColumns
from sizewise.report.chart import Figure, LeftOut
from sizewise.report.figures.components_by_size import components_by_size
from sizewise.report.scores import label_results
from sizewise.study.results import results_of


def rows_of(loss, values, seed="0"):
    of = RunColumns(run=f"{loss}{seed}", data="d", model="m", loss=loss, seed=seed)
    return [Row(of, case, 1, metric, value) for (case, metric), value in values.items()]


def test_means_over_cases_then_seeds():
    """Recall of small ones: case a ½, case b 1 (seed 0), ¼ and none (seed 1); so ¾ and ¼, in the mean ½."""
    name = "component_recall_small"
    rows = rows_of("A", {("a", name): 0.5, ("b", name): 1.0}) + rows_of(
        "A", {("a", name): 0.25, ("b", name): None}, "1"
    )
    rows += rows_of("B", {("a", "component_precision_large"): 1.0})
    figure = components_by_size(label_results(results_of(rows)))
    assert isinstance(figure, Figure)
    found = {tuple(row[1:4]): row[4:] for row in figure.rows}
    assert found["A", "component_recall", "small"][0] == 0.5
    assert found["A", "component_recall", "small"][2] == 2
    assert found["B", "component_precision", "large"] == [1.0, None, 1]
    recall, precision = figure.views[0].panels
    assert [mark.label for mark in recall.marks] == ["A", "A"]
    assert recall.marks[1].y == [50.0]
    assert precision.marks[0].x == [2.0 + 0.03]  # the second of two arms, beside the first
    (low,), (high,) = recall.marks[1].low, recall.marks[1].high
    assert (low, high) == (pytest.approx(50 - 25 * 2**0.5, abs=0.01), pytest.approx(50 + 25 * 2**0.5, abs=0.01))


def test_bars_end_at_none_and_all():
    name = "component_recall_small"
    rows = rows_of("A", {("a", name): 1.0}) + rows_of("A", {("a", name): 0.9}, "1")
    figure = components_by_size(label_results(results_of(rows)))
    assert isinstance(figure, Figure)
    assert figure.views[0].panels[0].marks[1].high == [100.0]


def test_tables_without_components_say_so():
    figure = components_by_size(label_results(results_of(rows_of("A", {("a", "dsc"): 0.5}))))
    assert isinstance(figure, LeftOut)
    assert "no components" in figure.why
