"""The scores of label maps on the screen, in the units of the reports: tables that fit a terminal of 80 columns."""

from collections.abc import Iterable, Mapping

from sizewise.cli.show import show_table
from sizewise.metrics.cases_csv import Row
from sizewise.metrics.class_summary import ClassSummary, summarise
from sizewise.metrics.registry import METRICS, POOLED, LengthUnit, Metric

_COUNTS = {"cases": "cases", "true neg.": "true_negatives", "missed": "missed", "false alarms": "false_alarms"}


def show_decisions(
    rows: Iterable[Row], *, title: str, names: Mapping[int, str] | None = None, length_unit: LengthUnit = "mm"
) -> None:
    """The same for a run that was scored under several decisions: two tables for each."""
    by_decision: dict[str, list[Row]] = {}
    for row in rows:
        by_decision.setdefault(row.of.decision, []).append(row)
    for decision, mine in by_decision.items():
        decided = f", decided by {decision}" if len(by_decision) > 1 else ""
        show_scores(mine, title=f"{title}{decided}", names=names, length_unit=length_unit)


def show_scores(
    rows: Iterable[Row], *, title: str = "", names: Mapping[int, str] | None = None, length_unit: LengthUnit = "mm"
) -> None:
    """Print means over cases and pooled scores, with the mean over classes, then signed errors and empty regions.

    Args:
        rows: the lines of a cases.csv.
        title: stands before what the first table says it is.
        names: of the classes, by id.
        length_unit: what distances are in.
    """
    summaries = summarise(rows)
    labels = [f"{one.class_id} {(names or {}).get(one.class_id, '')}".strip() for one in summaries]
    every = [metric.measured_in(length_unit) for metric in METRICS.values() if metric.screen[0]]
    shown = [metric for metric in every if metric.of_components is None]
    components = {metric.name: metric for metric in every if metric.of_components is not None}
    scores = {metric.name: metric for metric in shown if not metric.signed}
    pooled = {metric.name + POOLED: metric for metric in shown if metric.pooled}
    sizes = {metric.name: metric for metric in shown if metric.signed}
    heading = f"{title}: means over cases, and pooled" if title else "Means over cases, and pooled"
    heads = ["class", *map(_head, scores.values()), *(f"pooled {_head(metric)}" for metric in pooled.values())]
    lines = [[label, *_cells(one, scores | pooled)] for label, one in zip(labels, summaries, strict=True)]
    if len(summaries) > 1:
        means = (_mean(summaries, name, metric) for name, metric in (scores | pooled).items())
        lines.append(["mean", *means])
    show_table(heading, heads, lines, heads=1)
    lines = [
        [label, *_cells(one, sizes), *(str(getattr(one, count)) for count in _COUNTS.values())]
        for label, one in zip(labels, summaries, strict=True)
    ]
    heads = ["class", *map(_head, sizes.values()), *_COUNTS]
    show_table("Predicted minus true size, empty regions", heads, lines, heads=1)
    if any(name in one.means for one in summaries for name in components):
        lines = [[label, *_cells(one, components)] for label, one in zip(labels, summaries, strict=True)]
        heads = ["class", *map(_head, components.values())]
        show_table("Components: found (recall, by size of the component), and right (precision)", heads, lines, heads=1)


def _head(metric: Metric) -> str:
    return f"{metric.screen[0]} ({metric.unit})"


def _cells(one: ClassSummary, columns: Mapping[str, Metric]) -> list[str]:
    values = {**one.means, **one.pooled}
    return [metric.shown(values.get(name)) for name, metric in columns.items()]


def _mean(summaries: Iterable[ClassSummary], name: str, metric: Metric) -> str:
    """Over the classes that have a value, as the reports of studies have it."""
    found = [{**one.means, **one.pooled}.get(name) for one in summaries]
    known = [value for value in found if value is not None]
    return metric.shown(sum(known) / len(known) if known else None)
