"""Questions as pictures: is size under control worth it, and what tells how much the decision gains?"""

from scipy import stats

from sections.decision import run_gains, temperature_of
from sections.study import MAIN, EvidenceSet
from sections.two_by_two import arm_means
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.figures.size_agreement import same_range

SECTION = "Evidence"
FEWEST = 5  # points without which a correlation is not worth a number
CLEAR = 0.3  # of a correlation that is put into words


def size_control(sets: tuple[EvidenceSet, ...]) -> Figure | LeftOut:
    """|size error| against DSC, both relative to CE by argmax on the same set."""
    rows = []
    for one in sets:
        dsc, size = arm_means(one), arm_means(one, "size_error", absolute=True)
        if "CE" not in dsc or not size["CE"].mean:
            continue
        for arm in dsc:
            if arm != "CE" and arm.removesuffix(" (dice)") in MAIN:
                ratio = size[arm].mean / size["CE"].mean
                rows.append([one.title, arm, round(ratio, 4), round(100 * (dsc[arm].mean - dsc["CE"].mean), 3)])
    if not rows:
        return LeftOut("evidence-size", "Size error against DSC", SECTION, "no set has CE and another loss yet.")
    panels = [
        _size_panel([row for row in rows if row[1].endswith("(dice)") == decided], title)
        for title, decided in (("argmax", False), ("decided for Dice", True))
    ]
    caption = (
        "Each point is a loss on a set, against CE by argmax there: left of 1 its sizes are nearer to the true ones, "
        f"above 0 its DSC is higher. {correlation(rows)}"
    )
    view = View("", same_range([panel for panel in panels if len(panel.marks) > 2]))
    columns = ["set", "arm", "size_error_over_ce", "dsc_points_over_ce"]
    return Figure("evidence-size", "Size error against DSC", caption, SECTION, [view], columns, rows, height=0.85)


def _size_panel(rows: list[list], title: str) -> Panel:
    marks = _cross([row[2] for row in rows], [row[3] for row in rows])
    for arm in dict.fromkeys(row[1] for row in rows):
        mine = [row for row in rows if row[1] == arm]
        label = arm.removesuffix(" (dice)")
        tips = [f"{row[0]}: {row[1]}" for row in mine]
        x, y = numbers(row[2] for row in mine), numbers(row[3] for row in mine)
        marks.append(Mark("points", x, y, label, MAIN.index(label), text=tips))
    return Panel(marks, title, "|size error| / that of CE", "DSC − that of CE (points)")


def correlation(rows: list[list]) -> str:
    """Whether arms whose sizes are nearer score higher: Spearman's ρ over the points."""
    if len(rows) < FEWEST:
        return ""
    rho = float(stats.spearmanr([row[2] for row in rows], [row[3] for row in rows]).statistic)
    trend = "higher" if rho < 0 else "lower"
    told = f": arms with nearer sizes tend to a {trend} DSC" if abs(rho) >= CLEAR else ""
    number = f"{rho:+.2f}".replace("-", "−")
    return (
        f"Over all {len(rows)} points Spearman's ρ is {number}{told}. Points of a set share its CE and points of a "
        "loss its networks, so no p-value is given."
    )


def calibration(sets: tuple[EvidenceSet, ...]) -> Figure | LeftOut:
    """The gain of the decision in each run against the temperature that was fitted on its validation cases."""
    found = {(one, loss): temperature_of(one, loss) for one in sets for loss in MAIN}
    rows = gain_rows(sets, found)
    title = "Gain of the decision against calibration"
    if not rows:
        return LeftOut("evidence-calibration", title, SECTION, "no run has a fitted temperature yet.")
    caption = (
        "Each point is a run: the temperature fitted on its validation cases (above 1: it was surer of itself than it "
        "should be) and the DSC points that deciding for Dice adds on its test cases. "
        + _trend(rows, "temperature", "the surer a network was of itself")
    )
    view = View("", gain_panels(rows, "fitted temperature", at=1))
    columns = ["set", "loss", "seed", "temperature", "dsc_points"]
    return Figure("evidence-calibration", title, caption, SECTION, [view], columns, rows, height=0.85)


def size_bias(sets: tuple[EvidenceSet, ...]) -> Figure | LeftOut:
    """The gain of the decision in each run against how much too large or too small argmax draws."""
    rows = bias_rows(sets)
    title = "Gain of the decision against the size bias of argmax"
    if not rows:
        return LeftOut("evidence-bias", title, SECTION, "no run has sizes yet.")
    caption = (
        "Each point is a run: the mean of predicted minus true size by argmax, as a share of the mean true size "
        "(below 0: drawn too small), and the DSC points that deciding for Dice adds, both on the test cases. "
        + _trend(rows, "size bias", "the larger argmax draws")
    )
    view = View("", gain_panels(rows, "size bias of argmax (% of the true size)", at=0))
    columns = ["set", "loss", "seed", "size_bias_percent", "dsc_points"]
    return Figure("evidence-bias", title, caption, SECTION, [view], columns, rows, height=0.85)


def bias_rows(sets: tuple[EvidenceSet, ...]) -> list[list]:
    """The points of that figure."""
    return gain_rows(sets, {(one, loss): bias_of(one, loss) for one in sets for loss in MAIN})


def bias_trend(sets: tuple[EvidenceSet, ...]) -> str:
    """What they say together; the page Decide has this sentence too."""
    return _trend(bias_rows(sets), "argmax's size bias", "the larger argmax draws")


def bias_of(one: EvidenceSet, loss: str) -> dict[str, float]:
    """By seed, the mean signed size error by argmax in percent of the mean true size."""
    part, true = one.scores.of("size_error").known, one.scores.of("true_proportion").known.value
    if loss not in one.scores.arm_names or not len(true):
        return {}
    mine = part.where(part.arm == list(one.scores.arm_names).index(loss))
    return {
        one.scores.seeds[seed]: 100 * float(mine.value[mine.seed == seed].mean() / true.mean())
        for seed in sorted(set(mine.seed.tolist()))
    }


def gain_rows(sets: tuple[EvidenceSet, ...], found: dict[tuple[EvidenceSet, str], dict[str, float]]) -> list[list]:
    """Set, loss, seed, what was found of the run, and the DSC points that deciding for Dice adds to it."""
    return [
        [one.title, loss, seed, round(found[one, loss][seed], 4), round(gain, 3)]
        for one in sets
        for loss in MAIN
        for seed, gain in run_gains(one, loss).items()
        if seed in found[one, loss]
    ]


def gain_panels(rows: list[list], label: str, *, at: float) -> list[Panel]:
    """CE and DiceCE, a colour for each set."""
    titles = list(dict.fromkeys(row[0] for row in rows))
    panels = []
    for loss in ("CE", "DiceCE"):
        mine = [row for row in rows if row[1] == loss]
        marks = _cross([row[3] for row in mine], [row[4] for row in mine], at=at)
        for number, title in enumerate(titles):
            of_set = [row for row in mine if row[0] == title]
            x, y = numbers(row[3] for row in of_set), numbers(row[4] for row in of_set)
            marks.append(Mark("points", x, y, title, number, text=[f"{title}, seed {row[2]}" for row in of_set]))
        panels.append(Panel(marks, loss, label, "gain of deciding for Dice (DSC points)"))
    return same_range(panels)


def _trend(rows: list[list], what: str, condition: str) -> str:
    """Spearman's ρ over the runs, in words where it is clear."""
    if len(rows) < FEWEST:
        return ""
    rho = float(stats.spearmanr([row[3] for row in rows], [row[4] for row in rows]).statistic)
    told = f": {condition}, the {'less' if rho < 0 else 'more'} the decision adds" if abs(rho) >= CLEAR else ""
    number = f"{rho:+.2f}".replace("-", "−")
    return (
        f"Between {what} and gain, over all {len(rows)} runs of the main losses, Spearman's ρ is {number}{told}. Runs "
        "of a set share its difficulty, so no p-value is given."
    )


def _cross(x: list[float], y: list[float], *, at: float = 1) -> list[Mark]:
    """Dashed lines where nothing changes."""
    up, along = [min(y, default=0), max(y, default=0), 0], [min(x, default=at), max(x, default=at), at]
    return [
        Mark("line", [at, at], numbers([min(up), max(up)]), dashed=True),
        Mark("line", numbers([min(along), max(along)]), [0, 0], dashed=True),
    ]
