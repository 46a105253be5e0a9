"""How the score depends on the weight λ and on the temperature τ."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sizewise.metrics.arms import Arm, name_arms
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.conclusions import Conclusions
from sizewise.report.figures.side_by_side import beside
from sizewise.report.means import Mean, overall_means
from sizewise.report.scores import Scores

SECTION = "Scores"


def weight_curves(scores: Scores, conclusions: Conclusions) -> Figure | LeftOut:
    """Mean DSC over the weight λ of each compound loss; losses without λ are levels to compare with."""
    return _figure(scores, conclusions, "weight", "weights", "Score over the weight λ", "λ", "weight λ")


def temperature_curves(scores: Scores, conclusions: Conclusions) -> Figure | LeftOut:
    """Mean DSC over the temperature τ of each size term; losses without τ are levels to compare with."""
    title = "Score over the temperature τ"
    return _figure(scores, conclusions, "temperature", "temperatures", title, "τ", "temperature τ")


def _figure(
    scores: Scores, conclusions: Conclusions, field: str, name: str, title: str, sign: str, axis: str
) -> Figure | LeftOut:
    """A curve holds the arms that differ in ``field`` alone; without a value of it an arm is a level."""
    curve_of = _curves_of(scores.arms, field)
    values = [float(getattr(arm, field)) if getattr(arm, field) else None for arm in scores.arms]
    names = list(dict.fromkeys(curve_of))
    several = [
        curve
        for curve in names
        if len({v for v, c in zip(values, curve_of, strict=True) if c == curve and v is not None}) > 1
    ]
    if not several:
        return LeftOut(name, title, SECTION, f"no loss was run with more than one {sign}.")
    ends = sorted({v for v, c in zip(values, curve_of, strict=True) if c in several and v is not None})
    means = overall_means(scores, "dsc")
    views, rows = [], []
    for setting, setting_name in enumerate(scores.settings):
        marks: list[Mark] = []
        for style, curve in enumerate(names):
            points = [
                (values[arm], means[setting, arm], conclusions.tick(setting_name, scores.arm_names[arm], "dsc"))
                for arm in range(len(scores.arms))
                if curve_of[arm] == curve
                and (setting, arm) in means
                and (values[arm] is not None or curve not in several)
            ]
            points.sort(key=lambda point: point[0] or 0.0)
            rows += [[setting_name, curve, value, mean.mean, mean.std, mean.seeds] for value, mean, _ in points]
            if curve in several:
                marks += _curve(curve, style, points, sign, beside(several.index(curve), len(several), ends))
            elif points:
                level = numbers([100 * points[0][1].mean] * 2)
                marks.append(Mark("line", [ends[0], ends[-1]], level, curve, style, dashed=True))
        ticks = [(value, f"{value:g}") for value in ends]
        views.append(View(setting_name, [Panel(marks, "", axis, "mean DSC (%)", x_ticks=ticks, x_log=ends[0] > 0)]))
    return Figure(
        name,
        title,
        "Mean over cases, classes and seeds. Bars are one standard deviation over seeds to either side, no test; "
        f"points of several losses at one {sign} stand side by side. Dashed: losses without {sign}, or with one value "
        f"of it.{_about_filling(conclusions)}",
        SECTION,
        views,
        ["data", "loss", field, "mean_dsc", "std_over_seeds", "seeds"],
        rows,
        choose="data and model",
    )


def _curves_of(arms: Sequence[Arm], field: str) -> list[str]:
    """The curve that each arm is on: its name without the field.

    >>> _curves_of([Arm("CE"), Arm("RCE", "0.1", "1"), Arm("RCE", "1", "1"), Arm("RCE", "1", "5")], "temperature")
    ['CE', 'RCE λ=0.1', 'RCE λ=1', 'RCE λ=1']
    """
    return name_arms([replace(arm, **{field: ""}) for arm in arms])


def _about_filling(conclusions: Conclusions) -> str:
    reference = next((one.reference for one in conclusions.standings.values()), "")
    return f" Filled: shown to differ from {reference}; hollow: not." if conclusions.tick_note("dsc") else ""


def _curve(
    curve: str,
    style: int,
    points: Sequence[tuple[float | None, Mean, str]],
    sign: str,
    shift: Callable[[float], float],
) -> list[Mark]:
    known = [(value, mean, tick) for value, mean, tick in points if value is not None]
    x = numbers(shift(value) for value, _, _ in known)
    y = numbers(100 * mean.mean for _, mean, _ in known)
    low, high = (numbers(100 * (m.mean + side * (m.std or 0)) for _, m, _ in known) for side in (-1, 1))
    tips = [
        f"{curve}, {sign} = {value:g} {tick}\nDSC {mean.text(scale=100)} % over {mean.seeds} seeds"
        for value, mean, tick in known
    ]
    marks = [Mark("line", x, y, curve, style, text=tips)] if known else []
    for filled in (True, False):
        mine = [at for at, (_, _, tick) in enumerate(known) if bool(tick) is filled]
        if mine:
            at_x, at_y, bar_low, bar_high = ([column[at] for at in mine] for column in (x, y, low, high))
            tip, hollow = [tips[at] for at in mine], not filled
            marks.append(Mark("points", at_x, at_y, curve, style, bar_low, bar_high, tip, listed=False, hollow=hollow))
    return marks
