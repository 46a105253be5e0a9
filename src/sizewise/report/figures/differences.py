"""Arms from best to worst: the difference of each to the reference with its interval, ties joined by bars."""

from collections.abc import Mapping, Sequence
from typing import Any

from sizewise.metrics.cases_csv import ARGMAX
from sizewise.report.chart import VERDICT, Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.judgement import BETTER, NOT_SHOWN, UNTESTED, WORSE, judge
from sizewise.report.standing import Standing
from sizewise.study.statistics.paired import Comparison

TITLE = "Ranking"
OF_DECISIONS = "Decisions of the same networks, minus argmax"
SECTION = "Scores"
COLUMNS = ("data", "loss", "reference", "difference", "low", "high", "p", "p_holm", "shown")
HOLLOW = "Filled is shown, hollow is not, without a bar is not testable."


def differences(
    standings: Mapping[str, Standing], arm_names: Sequence[str], *, from_elsewhere: bool = False, plural: str = "losses"
) -> Figure | LeftOut:
    """Each arm minus the reference with its 95 % interval, best mean first.

    Args:
        standings: of each setting.
        arm_names: all arms, in the order of their colours.
        from_elsewhere: see :func:`sizewise.report.judgement.judge`.
        plural: what is ranked.
    """
    found = {name: one for name, one in standings.items() if one.to_reference}
    if not found:
        return LeftOut("differences", TITLE, VERDICT, "there is only one loss, so nothing to compare it with.")
    views, rows, ties = [], [], False
    for setting, one in found.items():
        compared = [
            (arm, one.to_reference.get(arm)) for arm in one.arms if arm in one.to_reference or arm == one.reference
        ]
        first = next(iter(one.to_reference.values()))
        means = [f"{first.metric.scale * one.means[arm]:.2f}" for arm, _ in compared]
        places = {arm: at for at, (arm, _) in enumerate(compared)}
        runs = [[places[arm] for arm in one.arms[low : high + 1] if arm in places] for low, high in one.ties]
        ties = ties or any(len(run) > 1 for run in runs)
        panel, more = _panel(compared, arm_names, first, f"minus {one.reference}", from_elsewhere, means, runs)
        views.append(View(setting, [panel]))
        rows += [[setting, *row] for row in more]
    reference = next(iter(found.values())).reference
    caption = f"Best mean first, with the mean at the right. Points are differences to {reference}: {HOLLOW.lower()} "
    if ties:
        caption += f"Grey bars join {plural} of which no two can be told apart. "
    return _figure("differences", TITLE, caption, VERDICT, views, rows, found.values())


def decision_differences(
    found: Mapping[str, Sequence[Comparison]], arm_names: Sequence[str], *, from_elsewhere: bool = False
) -> Figure | LeftOut:
    """Each decision minus argmax of the same networks, likewise."""
    if not any(found.values()):
        return LeftOut("decisions", OF_DECISIONS, SECTION, "no run was scored under another decision than argmax.")
    views, rows = [], []
    for setting, comparisons in found.items():
        ordered = sorted(comparisons, key=lambda one: -one.gain)
        compared = [(one.arm, one) for one in ordered]
        panel, more = _panel(compared, arm_names, ordered[0], f"minus {ARGMAX}", from_elsewhere)
        views.append(View(setting, [panel]))
        rows += [[setting, *row] for row in more]
    caption = (
        f"Right of 0 the decision scores more than argmax of the same networks; differences are within runs. {HOLLOW} "
    )
    return _figure("decisions", OF_DECISIONS, caption, SECTION, views, rows, found.values())


def _figure(
    name: str, title: str, caption: str, section: str, views: list[View], rows: list[list[Any]], found: Any
) -> Figure:
    comparisons = [
        one for each in found for one in (each.to_reference.values() if isinstance(each, Standing) else each)
    ]
    over = "new cases and new seeds" if any(one.seeds > 1 for one in comparisons) else "new cases"
    caption += (
        f"Thin bars are 95 % intervals over {over}; what is shown is decided after correction for all comparisons."
    )
    names = max(len(view.panels[0].y_ticks) for view in views)
    return Figure(name, title, caption, section, views, COLUMNS, rows, choose="data and model", names_down=names)


def _panel(
    compared: Sequence[tuple[str, Comparison | None]],
    arm_names: Sequence[str],
    like: Comparison,
    minus: str,
    from_elsewhere: bool,
    means: Sequence[str] = (),
    ties: Sequence[Sequence[int]] = (),
) -> tuple[Panel, list[list[Any]]]:
    """A row for each arm, from the top; None is the reference itself. Also the numbers behind it."""
    marks = [Mark("line", [0.0, 0.0], [0.5, 0.5 - len(compared)])]
    rows: list[list[Any]] = []
    reach = [0.0]
    for at, (arm, one) in enumerate(compared):
        style = list(arm_names).index(arm) if arm in arm_names else -1
        if one is None:
            marks.append(Mark("points", [0.0], [-float(at)], "", style, text=[f"{arm}: the reference"]))
            continue
        scale, word = one.metric.scale, judge(one, from_elsewhere=from_elsewhere)
        estimate, low, high = (scale * value for value in (one.estimate, one.low, one.high))
        tips = f"{arm} − {one.reference}: {estimate:+.2f} {one.metric.difference}"
        behind: list[Any] = [""] * 4
        reach.append(estimate)
        if word == UNTESTED:
            tips += "\ntoo few seeds or cases for a verdict"
        else:
            tips += f"\n95 % interval {low:+.2f} to {high:+.2f}\np = {one.p_holm:.3g} (Holm): {_words(word)}"
            behind = [one.low, one.high, one.p_value, one.p_holm]
            reach += [low, high]
            marks.append(Mark("line", numbers([low, high]), [-float(at)] * 2, "", style))
        hollow = word in (UNTESTED, NOT_SHOWN)
        marks.append(Mark("points", numbers([estimate]), [-float(at)], "", style, text=[tips], hollow=hollow))
        rows.append([arm, one.reference, one.estimate, *behind, word])
    left, right = min(reach), max(reach)
    span = (right - left) or 1.0
    edge = right + 0.06 * span
    for run in (run for run in ties if len(run) > 1):
        marks.append(Mark("line", numbers([edge] * 2), [0.25 - run[0], -0.25 - run[-1]], thick=True))
        edge += 0.05 * span
    ticks = [(-float(at), arm if one else f"{arm} (reference)") for at, (arm, one) in enumerate(compared)]
    label = f"{like.metric.difference}, {minus}"
    room = {"x_range": (left - 0.05 * span, edge), "y_range": (0.5 - len(compared), 0.5)}
    ends = [(-float(at), mean) for at, mean in enumerate(means)]
    return Panel(marks, x_label=label, y_ticks=ticks, y_ends=ends, **room), rows  # type: ignore[arg-type]


def _words(word: str) -> str:
    return {BETTER: "shown better", WORSE: "shown worse"}.get(word, word)
