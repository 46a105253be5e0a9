"""Differences to the reference loss, with their intervals."""

from collections.abc import Mapping, Sequence

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.study.statistics.paired import Comparison

SECTION = "Scores"
TITLE = "Difference to the reference"


def differences(found: Mapping[str, Sequence[Comparison]], entries: Sequence[str]) -> Figure | LeftOut:
    """Each loss minus the reference with its 95 % interval.

    Args:
        found: the comparisons of each arena.
        entries: all losses, in the order of their colours.
    """
    if not any(found.values()):
        return LeftOut("differences", TITLE, SECTION, "there is only one loss, so nothing to compare it with.")
    views, rows = [], []
    for arena, comparisons in found.items():
        marks = [Mark("line", [-0.5, len(comparisons) - 0.5], [0.0, 0.0])]
        for at, one in enumerate(comparisons):
            scale = one.measure.scale
            estimate, low, high = (scale * value for value in (one.estimate, one.low, one.high))
            says = (
                f"{one.arm} − {one.reference}: {estimate:+.2f} {one.measure.unit}\n95 % interval {low:+.2f} to "
                f"{high:+.2f}\np = {one.p_holm:.3g} (Holm)"
            )
            style = list(entries).index(one.arm) if one.arm in entries else -1
            marks.append(
                Mark(
                    "points", [float(at)], numbers([estimate]), one.arm, style, numbers([low]), numbers([high]), [says]
                )
            )
            rows.append([arena, one.arm, one.reference, one.estimate, one.low, one.high, one.p_value, one.p_holm])
        ticks = [(float(at), one.arm) for at, one in enumerate(comparisons)]
        unit = comparisons[0].measure.unit
        reference = comparisons[0].reference
        views.append(View(arena, [Panel(marks, "", "", f"minus {reference} ({unit})", x_ticks=ticks)]))
    several = any(one.seeds > 1 for comparisons in found.values() for one in comparisons)
    over = "new cases and new seeds" if several else "new cases"
    return Figure(
        "differences",
        TITLE,
        f"Above 0 it scores more than the reference. Bars are 95 % intervals over {over}, each for its own comparison; "
        "whether a difference is claimed is decided after correction for all of them.",
        SECTION,
        views,
        ["data", "loss", "reference", "difference", "low", "high", "p", "p_holm"],
        rows,
        choose="data and model",
        height=0.5,
    )
