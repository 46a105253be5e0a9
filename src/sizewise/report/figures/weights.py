"""How the score depends on the weight λ and on the temperature τ."""

from collections.abc import Sequence
from dataclasses import dataclass

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.scores import Scores, split_temperature
from sizewise.report.summary import Mean, overall_means

SECTION = "Scores"


@dataclass(frozen=True)
class Setting:
    """An entry as a point of a curve: which curve, and where on it; without a value it is a level to compare with."""

    curve: str
    value: float | None


def weight_curves(scores: Scores) -> Figure | LeftOut:
    """Mean DSC over the weight λ of each compound loss; losses without λ are levels to compare with."""
    settings = [
        Setting(loss, float(weight) if weight else None)
        for loss, weight in zip(scores.losses, scores.weights, strict=True)
    ]
    why = "no loss was run with more than one λ."
    return _curves(scores, settings, "weights", "Score over the weight λ", "λ", "weight λ", why)


def temperature_curves(scores: Scores) -> Figure | LeftOut:
    """Mean DSC over the temperature τ of each size term; losses without τ are levels to compare with."""
    settings = []
    for loss, entry in zip(scores.losses, scores.entries, strict=True):
        name, value = split_temperature(loss)
        settings.append(Setting(name + entry.removeprefix(loss), value))  # with its λ where the study has several
    why = "no loss was run with more than one τ."
    return _curves(scores, settings, "temperatures", "Score over the temperature τ", "τ", "temperature τ", why)


def _curves(
    scores: Scores, settings: Sequence[Setting], name: str, title: str, sign: str, axis: str, why: str
) -> Figure | LeftOut:
    names = list(dict.fromkeys(one.curve for one in settings))
    values = {curve: {one.value for one in settings if one.curve == curve and one.value is not None} for curve in names}
    several = [curve for curve in names if len(values[curve]) > 1]
    if not several:
        return LeftOut(name, title, SECTION, why)
    ends = sorted({value for curve in several for value in values[curve]})
    means = overall_means(scores, "dsc")
    views, rows = [], []
    for arena, arena_name in enumerate(scores.arenas):
        marks: list[Mark] = []
        for style, curve in enumerate(names):
            points = [
                (one.value, means[arena, at])
                for at, one in enumerate(settings)
                if one.curve == curve and (arena, at) in means and (one.value is not None or curve not in several)
            ]
            points.sort(key=lambda point: point[0] or 0.0)
            rows += [[arena_name, curve, value, mean.mean, mean.std, mean.seeds] for value, mean in points]
            if curve in several:
                marks += _curve(curve, style, points, sign)
            elif points:
                level = numbers([100 * points[0][1].mean] * 2)
                marks.append(Mark("line", [ends[0], ends[-1]], level, curve, style, dashed=True))
        ticks = [(value, f"{value:g}") for value in ends]
        views.append(View(arena_name, [Panel(marks, "", axis, "mean DSC (%)", x_ticks=ticks, x_log=ends[0] > 0)]))
    return Figure(
        name,
        title,
        "Mean over cases, classes and seeds; bars are one standard deviation over seeds. Dashed: losses without "
        f"{sign}, or with one value of it.",
        SECTION,
        views,
        ["data", "loss", name.removesuffix("s"), "mean_dsc", "std_over_seeds", "seeds"],
        rows,
        choose="data and model",
    )


def _curve(curve: str, style: int, points: Sequence[tuple[float | None, Mean]], sign: str) -> list[Mark]:
    if not points:
        return []
    x = numbers(value for value, _ in points if value is not None)
    y = numbers(100 * mean.mean for _, mean in points)
    low, high = (numbers(100 * (m.mean + side * (m.std or 0)) for _, m in points) for side in (-1, 1))
    says = [
        f"{curve}, {sign} = {value:g}\nDSC {mean.percent()} % over {mean.seeds} seeds"
        for value, mean in points
        if value is not None
    ]
    return [
        Mark("line", x, y, curve, style, text=says),
        Mark("points", x, y, curve, style, low, high, says, listed=False),
    ]
