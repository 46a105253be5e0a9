"""The finding as one picture: what each loss and decision adds to cross-entropy, set by set."""

from statistics import median

from sections.study import MAIN, EvidenceSet
from sections.two_by_two import arm_means
from sections.wording import signed
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers

NAME, TITLE = "evidence-headline", "What each loss, and each decision, adds to cross-entropy"
REFERENCE = "CE"
SPREAD = 0.3  # how far the points of a row lie from its middle
BEYOND = 2.5  # times the largest gain of all other sets: a set with more has its points at the edge, with their numbers


def headline(sets: tuple[EvidenceSet, ...]) -> Figure | LeftOut:
    """DSC of each main loss under each decision minus that of CE by argmax, a point for each set."""
    means = {one.title: arm_means(one) for one in sets}
    means = {title: found for title, found in means.items() if REFERENCE in found}
    arms = [arm for loss in MAIN for arm in (loss, f"{loss} (dice)") if arm != REFERENCE]
    gains = {
        arm: {title: 100 * (found[arm].mean - found[REFERENCE].mean) for title, found in means.items() if arm in found}
        for arm in arms
    }
    gains = {arm: found for arm, found in gains.items() if found}
    if not gains:
        return LeftOut(NAME, TITLE, "Evidence", "no set has CE and another arm yet.")
    order = sorted(gains, key=lambda arm: median(gains[arm].values()))  # the best on top
    edge = _edge(gains)
    marks = [Mark("line", [0, 0], [-0.6, len(order) - 0.4], dashed=True)]
    for place, arm in enumerate(order):
        middle = median(gains[arm].values())
        marks.append(Mark("line", numbers([middle, middle]), [place - 0.38, place + 0.38], thick=True, faint=True))
    for number, title in enumerate(means):
        marks += _points(title, number, len(means), order, gains, edge)
    panel = Panel(
        marks,
        x_label="DSC points over CE by argmax, on the same test cases",
        y_ticks=[(place, arm) for place, arm in enumerate(order)],
        y_ends=[(place, signed(median(gains[arm].values()), 1)) for place, arm in enumerate(order)],
        x_range=(-edge[0], edge[1]),
        y_range=(-0.6, len(order) - 0.4),
    )
    caption = (
        "Each point is a data set: the mean over its seeds minus that of CE decided by argmax; the bar, and the number "
        "at the right, is the median over the sets. (dice): the same networks, decided for Dice."
    )
    rows = [[arm, title, round(gain, 3)] for arm in reversed(order) for title, gain in gains[arm].items()]
    columns = ["arm", "set", "dsc_points_over_ce"]
    return Figure(NAME, TITLE, caption, "Evidence", [View("", [panel])], columns, rows, names_down=3 * len(order) // 2)


def _edge(gains: dict[str, dict[str, float]]) -> tuple[float, float]:
    """How far the axis goes to the left and to the right: as far as the sets do that are not far from all others."""
    titles = {title for found in gains.values() for title in found}
    largest = {title: max(abs(found.get(title, 0.0)) for found in gains.values()) for title in titles}
    usual = [size for title, size in largest.items() if size <= BEYOND * max(_without(largest, title), default=size)]
    near = {title for title, size in largest.items() if size in usual}
    shown = [gain for found in gains.values() for title, gain in found.items() if title in near]
    room = 0.08 * (max(shown) - min(shown)) + 0.2
    return -min([*shown, 0]) + room, max([*shown, 0]) + 2 * room


def _without(largest: dict[str, float], title: str) -> list[float]:
    return [size for other, size in largest.items() if other != title]


def _points(
    title: str, number: int, sets: int, order: list[str], gains: dict[str, dict[str, float]], edge: tuple[float, float]
) -> list[Mark]:
    """The points of one set; those beyond the axis stand at its edge, their numbers beside them."""
    lift = SPREAD * (1 - 2 * number / max(1, sets - 1))
    mine = [(place + lift, gains[arm][title]) for place, arm in enumerate(order) if title in gains[arm]]
    kept = [max(-0.97 * edge[0], min(0.97 * edge[1], gain)) for _, gain in mine]
    tips = [f"{title}: {signed(gain)}" for _, gain in mine]
    marks = [Mark("points", numbers(kept), numbers(y for y, _ in mine), title, number, text=tips)]
    for (y, gain), at in zip(mine, kept, strict=True):
        if abs(gain - at) > 0.03 * sum(edge):
            side = "end" if gain > at else "start"
            inside = at - 0.02 * sum(edge) if gain > at else at + 0.02 * sum(edge)
            marks.append(Mark("words", [inside], [y], style=number, text=[f"{signed(gain, 1)}"], anchor=side))
    return marks
