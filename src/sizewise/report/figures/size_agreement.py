"""Predicted against true region sizes: bias and limits of agreement (Bland and Altman)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.scores import Scores
from sizewise.report.true_sizes import MISSING, TrueSizes, region_name

SECTION = "Region sizes"
TITLE = "Predicted against true region size"
MOST_VIEWS = 24
MOST_DOTS = 12_000  # of the whole figure
LIMIT = 1.96  # standard deviations, between which 95 % of normal differences lie
CAPTION = (
    "Each dot is a case (a sample where there are many). The line is the bias, the mean of predicted minus true "
    "size; 95 % of the cases are expected between the dashed limits of agreement (bias ± 1.96 standard deviations)."
)
COLUMNS = ("region", "loss", "values", "mean_true_proportion", "bias", "lower_limit", "upper_limit")


@dataclass(frozen=True)
class Agreement:
    """The mean of p − t, and the limits between which 95 % of the cases are expected."""

    bias: float
    lower: float
    upper: float


def agreement(error: np.ndarray) -> Agreement:
    """Bias and limits of size errors.

    >>> agreement(np.array([0.1, 0.3]))  # the standard deviation is √0.02 = 0.1414: 0.2 ± 1.96 · 0.1414
    Agreement(bias=0.2, lower=-0.0771858..., upper=0.4771858...)
    """
    bias, spread = float(error.mean()), float(error.std(ddof=1)) if len(error) > 1 else 0.0
    return Agreement(bias, bias - LIMIT * spread, bias + LIMIT * spread)


def size_agreement(scores: Scores, sizes: TrueSizes) -> Figure | LeftOut:
    """p − t over t of every case and arm, with the mean difference and its limits of agreement."""
    if not len(sizes.true):
        return LeftOut("sizes", TITLE, SECTION, MISSING)
    regions = sizes.regions
    panels_in_all = sum(len(np.unique(sizes.part.arm[sizes.of(*region)])) for region in regions[:MOST_VIEWS])
    dots = max(20, min(250, MOST_DOTS // max(1, panels_in_all)))
    views: list[View] = []
    rows: list[list] = []
    for region in regions:
        name, panels = region_name(scores, *region), []
        for arm in np.unique(sizes.part.arm[sizes.of(*region)]):
            mine = sizes.of(*region) & (sizes.part.arm == arm)
            found, loss = agreement(sizes.part.value[mine]), scores.arm_names[arm]
            means = float(sizes.true[mine].mean()), found.bias, found.lower, found.upper
            rows.append([name, loss, int(mine.sum()), *means])
            true, error = sizes.true[mine], sizes.part.value[mine]
            cases = [scores.cases[case] for case in sizes.part.case[mine]]
            panels.append(agreement_panel(loss, true, error, found, cases=cases, style=int(arm), dots=dots))
        if len(views) < MOST_VIEWS:
            views.append(View(name, same_range(panels)))
    caption = CAPTION + sizes.note
    if len(regions) > MOST_VIEWS:
        caption += f" The first {MOST_VIEWS} of {len(regions)} regions are drawn; the numbers of all are in its table."
    return Figure("sizes", TITLE, caption, SECTION, views, COLUMNS, rows, choose="data and class", height=0.8)


def agreement_panel(
    name: str,
    true: np.ndarray,
    error: np.ndarray,
    found: Agreement,
    *,
    cases: Sequence[str],
    style: int,
    dots: int,
) -> Panel:
    """One arm or class: a dot per case, at most so many, the bias and its limits."""
    kept = _sample(len(true), dots)
    tips = [f"{cases[at]}\ntrue {100 * true[at]:.3g} %, predicted {100 * (true[at] + error[at]):.3g} %" for at in kept]
    ends = numbers([100 * true.min(), 100 * true.max()])
    limits = f"limits {100 * found.lower:+.3g} to {100 * found.upper:+.3g}"
    tip_of_lines = [f"{name}: bias {100 * found.bias:+.3g} points, {limits}"] * 2

    def level(value: float, label: str, *, dashed: bool) -> Mark:
        height = numbers([100 * value] * 2)
        return Mark("line", ends, height, label, style, text=tip_of_lines, listed=False, dashed=dashed)

    marks = [
        Mark("line", ends, [0.0, 0.0]),
        Mark("points", numbers(100 * true[kept]), numbers(100 * error[kept]), "", style, text=tips, faint=True),
        level(found.bias, "bias", dashed=False),
        level(found.lower, "limits", dashed=True),
        level(found.upper, "limits", dashed=True),
    ]
    return Panel(marks, name, "true size (% of the image)", "predicted − true (points)")


def _sample(count: int, most: int) -> np.ndarray:
    return np.arange(count) if count <= most else np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def same_range(panels: list[Panel]) -> list[Panel]:
    """Panels on one scale, so that they can be compared by eye."""
    values = [v for panel in panels for mark in panel.marks for v in mark.y if v is not None]
    room = 0.05 * (max(values) - min(values)) or 0.5
    return [replace(panel, y_range=(min(values) - room, max(values) + room)) for panel in panels]
