"""The critical-difference diagram: mean ranks on a line, bars over losses that cannot be told apart."""

from collections.abc import Sequence

from sizewise.errors import BadInput
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.study.statistics.critical_difference import CriticalDifference, critical_difference
from sizewise.study.statistics.setting_scores import SettingScores

SECTION = "Across data sets"
TITLE = "Critical difference of the mean ranks"


def critical(
    arranged: Sequence[SettingScores], arm_names: Sequence[str], *, what: str = "loss", plural: str = "losses"
) -> Figure | LeftOut:
    """The diagram over data sets; with fewer than three of them, or of arms, it is left out.

    Args:
        arranged: one per data set and model.
        arm_names: all arms, in the order of their colours.
        what: what they are: losses, models, or arms where decisions are compared too.
        plural: the same of several.
    """
    try:
        found = critical_difference(arranged)
    except BadInput as error:
        return LeftOut("critical-difference", TITLE, SECTION, str(error))
    return diagram(found, arm_names, what=what, plural=plural)


def diagram(
    found: CriticalDifference, arm_names: Sequence[str], *, what: str = "loss", plural: str = "losses"
) -> Figure:
    """Draw what the test found."""
    count = len(found.arms)
    left = (count + 1) // 2
    marks = [Mark("line", [1.0, float(count)], [0.0, 0.0])]
    for tick in range(1, count + 1):
        marks.append(Mark("line", [float(tick)] * 2, [0.0, 0.12]))
        marks.append(Mark("words", [float(tick)], [0.36], text=[str(tick)], anchor="middle"))
    room = 0.04 * count + 0.12
    bars = len(found.cliques)
    for at, (arm, rank) in enumerate(zip(found.arms, found.mean_ranks, strict=True)):
        on_left = at < left
        level = -(0.55 + 0.3 * bars) - 0.55 * (at if on_left else count - 1 - at)
        end = 1 - room if on_left else count + room
        style = list(arm_names).index(arm) if arm in arm_names else -1
        tips = f"{arm}: mean rank {rank:.2f} over {found.data_sets} data sets"
        marks.append(
            Mark("line", numbers([rank, rank, end]), [0.0, level, level], arm, style, listed=False, text=[tips] * 3)
        )
        marks.append(Mark("points", numbers([rank]), [0.0], arm, style, text=[tips], listed=False))
        at_side = end - 0.05 if on_left else end + 0.05
        marks.append(Mark("words", numbers([at_side]), [level], text=[arm], anchor="end" if on_left else "start"))
    ranks = dict(zip(found.arms, found.mean_ranks, strict=True))
    for number, clique in enumerate(found.cliques):
        ends = [min(ranks[arm] for arm in clique) - 0.05, max(ranks[arm] for arm in clique) + 0.05]
        marks.append(Mark("line", numbers(ends), [-0.33 - 0.3 * number] * 2, thick=True))
    stop = min(1 + found.distance, count + 0.4)
    marks.append(Mark("line", numbers([1, stop]), [0.85, 0.85]))
    marks += [Mark("line", numbers([x, x]), [0.75, 0.95]) for x in (1, stop)]
    tips = f"critical difference {found.distance:.2f}"
    marks.append(Mark("words", numbers([(1 + stop) / 2]), [1.15], text=[tips], anchor="middle"))
    lowest = -(0.9 + 0.3 * bars) - 0.55 * (left - 1)
    panel = Panel(
        marks, bare=True, stretch=True, x_range=(1 - 0.62 * count, count + 0.62 * count), y_range=(lowest, 1.4)
    )
    return Figure(
        "critical-difference",
        TITLE,
        f"Mean rank of each {what} over {found.data_sets} data sets, the best at the left. {plural.capitalize()} "
        f"joined by a bar cannot be told apart at 5 % (Nemenyi's test after Friedman's, p = {found.friedman_p:.3g}).",
        SECTION,
        [View("", [panel])],
        ["loss", "mean_rank", "data_sets", "critical_difference", "friedman_p"],
        [[arm, rank, found.data_sets, found.distance, found.friedman_p] for arm, rank in ranks.items()],
        height=0.16 + 0.05 * count,
    )
