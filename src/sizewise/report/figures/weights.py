"""How the score depends on the weight λ and on the temperature τ."""

from collections.abc import Sequence
from dataclasses import replace

from sizewise.metrics.arms import Arm, name_arms
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.means import Mean, overall_means
from sizewise.report.scores import Scores

SECTION = "Scores"


def weight_curves(scores: Scores) -> Figure | LeftOut:
    """Mean DSC over the weight λ of each compound loss; losses without λ are levels to compare with."""
    return _figure(scores, "weight", "weights", "Score over the weight λ", "λ", "weight λ")


def temperature_curves(scores: Scores) -> Figure | LeftOut:
    """Mean DSC over the temperature τ of each size term; losses without τ are levels to compare with."""
    return _figure(scores, "temperature", "temperatures", "Score over the temperature τ", "τ", "temperature τ")


def _figure(scores: Scores, field: str, name: str, title: str, sign: str, axis: str) -> Figure | LeftOut:
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
                (values[arm], means[setting, arm])
                for arm in range(len(scores.arms))
                if curve_of[arm] == curve
                and (setting, arm) in means
                and (values[arm] is not None or curve not in several)
            ]
            points.sort(key=lambda point: point[0] or 0.0)
            rows += [[setting_name, curve, value, mean.mean, mean.std, mean.seeds] for value, mean in points]
            if curve in several:
                marks += _curve(curve, style, points, sign)
            elif points:
                level = numbers([100 * points[0][1].mean] * 2)
                marks.append(Mark("line", [ends[0], ends[-1]], level, curve, style, dashed=True))
        ticks = [(value, f"{value:g}") for value in ends]
        views.append(View(setting_name, [Panel(marks, "", axis, "mean DSC (%)", x_ticks=ticks, x_log=ends[0] > 0)]))
    return Figure(
        name,
        title,
        "Mean over cases, classes and seeds; bars are one standard deviation over seeds. Dashed: losses without "
        f"{sign}, or with one value of it.",
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


def _curve(curve: str, style: int, points: Sequence[tuple[float | None, Mean]], sign: str) -> list[Mark]:
    if not points:
        return []
    x = numbers(value for value, _ in points if value is not None)
    y = numbers(100 * mean.mean for _, mean in points)
    low, high = (numbers(100 * (m.mean + side * (m.std or 0)) for _, m in points) for side in (-1, 1))
    tips = [
        f"{curve}, {sign} = {value:g}\nDSC {mean.text(scale=100)} % over {mean.seeds} seeds"
        for value, mean in points
        if value is not None
    ]
    return [
        Mark("line", x, y, curve, style, text=tips),
        Mark("points", x, y, curve, style, low, high, tips, listed=False),
    ]
