"""The scores of label maps on the screen: two tables that fit a terminal of 80 columns."""

from collections.abc import Iterable, Mapping

from sizewise.cli.show import show_table
from sizewise.metrics.cases_csv import Row
from sizewise.metrics.class_summary import ClassSummary, summarise
from sizewise.metrics.registry import METRICS, POOLED, LengthUnit

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
    """Print means over cases and pooled scores, then errors with a sign and counts of empty regions.

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
    components = {metric.name: metric.screen for metric in every if metric.of_components is not None}
    scores = {metric.name: metric.screen for metric in shown if not metric.signed}
    scores |= {metric.name + POOLED: (f"pooled {metric.label}", metric.screen[1]) for metric in shown if metric.pooled}
    sizes = {metric.name: metric.screen for metric in shown if metric.signed}
    heading = f"{title}: means over cases, and pooled" if title else "Means over cases, and pooled"
    lines = [[label, *_cells(one, scores)] for label, one in zip(labels, summaries, strict=True)]
    show_table(heading, ["class", *(head for head, _ in scores.values())], lines)
    lines = [
        [label, *_cells(one, sizes), *(str(getattr(one, count)) for count in _COUNTS.values())]
        for label, one in zip(labels, summaries, strict=True)
    ]
    heads = ["class", *(head for head, _ in sizes.values()), *_COUNTS]
    show_table("Predicted minus true size, empty regions", heads, lines)
    if any(name in one.means for one in summaries for name in components):
        lines = [[label, *_cells(one, components)] for label, one in zip(labels, summaries, strict=True)]
        heads = ["class", *(head for head, _ in components.values())]
        show_table("Components: found (recall, by size of the component), and right (precision)", heads, lines)


def _cells(one: ClassSummary, columns: Mapping[str, tuple[str, str]]) -> list[str]:
    values = {**one.means, **one.pooled}
    found = [(values.get(name), form) for name, (_, form) in columns.items()]
    return ["–" if value is None else form.format(value) for value, form in found]
