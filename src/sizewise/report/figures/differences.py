"""Differences to the reference loss, with their intervals."""

from collections.abc import Callable, Mapping, Sequence

from sizewise.metrics.cases_csv import ARGMAX
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.study.statistics.paired import Comparison

SECTION = "Scores"
TITLE = "Difference to the reference"
Refused = Callable[[Comparison], bool]
OF_DECISIONS = "Decisions of the same networks, minus argmax"


def differences(
    found: Mapping[str, Sequence[Comparison]],
    arm_names: Sequence[str],
    refused: Refused = lambda one: one.refused,
) -> Figure | LeftOut:
    """Each loss minus the reference with its 95 % interval.

    Args:
        found: the comparisons of each setting.
        arm_names: all losses, in the order of their colours.
        refused: whether there is too little for a verdict on a comparison; it is a point without a bar.
    """
    if not any(found.values()):
        return LeftOut("differences", TITLE, SECTION, "there is only one loss, so nothing to compare it with.")
    caption = "Above 0 it scores more than the reference."
    reference = next(one.reference for comparisons in found.values() for one in comparisons)
    return _figure(found, arm_names, name="differences", title=TITLE, caption=caption, minus=reference, refused=refused)


def decision_differences(
    found: Mapping[str, Sequence[Comparison]],
    arm_names: Sequence[str],
    refused: Refused = lambda one: one.refused,
) -> Figure | LeftOut:
    """Each decision minus argmax of the same networks, likewise."""
    if not any(found.values()):
        return LeftOut("decisions", OF_DECISIONS, SECTION, "no run was scored under another decision than argmax.")
    caption = "Above 0 the decision scores more than argmax of the same networks; differences are within runs."
    return _figure(
        found, arm_names, name="decisions", title=OF_DECISIONS, caption=caption, minus=ARGMAX, refused=refused
    )


def _figure(
    found: Mapping[str, Sequence[Comparison]],
    arm_names: Sequence[str],
    *,
    name: str,
    title: str,
    caption: str,
    minus: str,
    refused: Refused,
) -> Figure:
    views, rows = [], []
    for setting, comparisons in found.items():
        marks = [Mark("line", [-0.5, len(comparisons) - 0.5], [0.0, 0.0])]
        for at, one in enumerate(comparisons):
            scale = one.metric.scale
            estimate, low, high = (scale * value for value in (one.estimate, one.low, one.high))
            tips = f"{one.arm} − {one.reference}: {estimate:+.2f} {one.metric.difference}"
            bars: tuple[Sequence[float | None], Sequence[float | None]] = numbers([low]), numbers([high])
            behind: list[float | str] = [one.low, one.high, one.p_value, one.p_holm]
            if refused(one):
                tips, bars, behind = f"{tips}\ntoo few seeds or cases for a verdict", ((None,), (None,)), [""] * 4
            else:
                tips += f"\n95 % interval {low:+.2f} to {high:+.2f}\np = {one.p_holm:.3g} (Holm)"
            style = list(arm_names).index(one.arm) if one.arm in arm_names else -1
            marks.append(Mark("points", [float(at)], numbers([estimate]), one.arm, style, *bars, [tips]))
            rows.append([setting, one.arm, one.reference, one.estimate, *behind])
        ticks = [(float(at), one.arm) for at, one in enumerate(comparisons)]
        unit = comparisons[0].metric.difference
        views.append(View(setting, [Panel(marks, "", "", f"minus {minus} ({unit})", x_ticks=ticks)]))
    several = any(one.seeds > 1 for comparisons in found.values() for one in comparisons)
    over = "new cases and new seeds" if several else "new cases"
    return Figure(
        name,
        title,
        f"{caption} Bars are 95 % intervals over {over}, each for its own comparison; "
        "whether a difference is claimed is decided after correction for all of them.",
        SECTION,
        views,
        ["data", "loss", "reference", "difference", "low", "high", "p", "p_holm"],
        rows,
        choose="data and model",
        height=0.5,
    )
