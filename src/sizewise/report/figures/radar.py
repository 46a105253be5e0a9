"""Losses over data sets, as a radar."""

import numpy as np

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.means import overall_means
from sizewise.report.scores import Scores

SECTION = "Across data sets"
INNER = 0.2  # where the worst loss of an axis lies; the best is at 1
LONGEST = 28  # letters of a name at the end of an axis
LETTER = 0.04  # the width of one, where the radius of the radar is 1
LINE = 0.15  # the height of a line of them


def radar(scores: Scores) -> Figure | LeftOut:
    """One axis per data set and model, from the worst loss there to the best."""
    title = "Losses over data sets"
    means = overall_means(scores, "dsc")
    axes = [at for at in range(len(scores.settings)) if sum((at, e) in means for e in range(len(scores.arm_names))) > 1]
    if len(axes) < 3:
        return LeftOut("radar", title, SECTION, f"a radar needs three data sets or models, the study has {len(axes)}.")
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(axes)) / len(axes)
    marks: list[Mark] = []
    names = []
    limits = {}
    for at, angle in zip(axes, angles, strict=True):
        found = [means[at, e].mean for e in range(len(scores.arm_names)) if (at, e) in means]
        limits[at] = (min(found), max(found))
        marks.append(Mark("line", numbers([0, np.cos(angle)]), numbers([0, np.sin(angle)])))
        name = scores.settings[at]
        name = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
        names.append((name, f"{100 * min(found):.1f} to {100 * max(found):.1f}"))
    for level in (INNER, 0.6, 1.0):
        ring = level * np.exp(1j * np.append(angles, angles[0]))
        marks.append(Mark("line", numbers(ring.real), numbers(ring.imag), faint=True))
    rows = []
    for arm, name in enumerate(scores.arm_names):
        values = [means[at, arm].mean if (at, arm) in means else np.nan for at in axes]
        rows += [[scores.settings[at], name, *limits[at], value] for at, value in zip(axes, values, strict=True)]
        places = [_place(value, limits[at]) for at, value in zip(axes, values, strict=True)]
        spots = np.array(places) * np.exp(1j * angles)
        closed = np.append(spots, spots[0])
        tips = [
            f"{name}\n{scores.settings[at]}: DSC {100 * value:.2f} %" for at, value in zip(axes, values, strict=True)
        ]
        marks.append(Mark("line", numbers(closed.real), numbers(closed.imag), name, arm, text=[*tips, tips[0]]))
        marks.append(Mark("points", numbers(spots.real), numbers(spots.imag), name, arm, text=tips, listed=False))
    reach = 1.3
    for angle, lines in zip(angles, names, strict=True):
        side = "middle" if abs(np.cos(angle)) < 0.3 else "start" if np.cos(angle) > 0 else "end"
        length = LETTER * max(map(len, lines)) / (2 if side == "middle" else 1)
        reach = max(reach, 1.08 * abs(np.cos(angle)) + length)
        lower = np.sin(angle) < -0.3
        for line, text in enumerate(lines):
            height = 1.1 * np.sin(angle) + LINE * ((0 if lower else 1 if np.sin(angle) > 0.3 else 0.5) - line)
            words = numbers([1.08 * np.cos(angle)]), numbers([height])
            marks.append(Mark("words", *words, text=[text], anchor=side, faint=line > 0))  # type: ignore[arg-type]
    lowest, highest = 1.1 * float(np.sin(angles).min()) - 2 * LINE, 1.1 + 2 * LINE
    panel = Panel(marks, bare=True, x_range=(-reach, reach), y_range=(lowest, highest))
    caption = (
        "On each axis the outermost ring is the best loss's mean DSC and the innermost the worst's (the numbers at its "
        "end): shapes compare losses within an axis, not across axes."
    )
    columns = ["data", "loss", "worst_mean_dsc", "best_mean_dsc", "mean_dsc"]
    return Figure("radar", title, caption, SECTION, [View("", [panel])], columns, rows, height=0.62)


def _place(value: float, limits: tuple[float, float]) -> float:
    low, high = limits
    return INNER + (1 - INNER) * (value - low) / (high - low) if high > low else 1.0
