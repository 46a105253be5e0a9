"""The size error and the overlap of regions from small to large."""

from dataclasses import dataclass

import numpy as np

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.figures.size_agreement import MOST_VIEWS, SECTION
from sizewise.report.means import group_means
from sizewise.report.scores import Scores
from sizewise.report.true_sizes import MISSING, TrueSizes, region_name

TITLE = "Error by region size"
BINS = 6
COLUMNS = ("region", "loss", "bin", "from_proportion", "to_proportion", "values", "mean_relative_error", "mean_dsc")


@dataclass(frozen=True)
class Bins:
    """The regions of one arm by size: of each bin its number, its centre, how many, and the two means."""

    number: np.ndarray
    centre: np.ndarray
    count: np.ndarray
    relative_error: np.ndarray
    dsc: np.ndarray


def error_by_size(scores: Scores, sizes: TrueSizes) -> Figure | LeftOut:
    """The relative size error, and the DSC, over the true size, in bins with equally many cases."""
    present = sizes.true > 0
    if present.sum() < 2:
        return LeftOut("size-errors", TITLE, SECTION, "no target has a region." if len(sizes.true) else MISSING)
    dsc = np.nan_to_num(scores.beside(sizes.part, "dsc"))
    views: list[View] = []
    rows: list[list] = []
    for region in sizes.regions:
        chosen = sizes.of(*region) & present
        if chosen.sum() < 2:
            continue
        edges = size_edges(sizes.true[chosen])
        name, zero = region_name(scores, *region), Mark("line", numbers(100 * edges[[0, -1]]), [0.0, 0.0])
        marks: tuple[list[Mark], list[Mark]] = ([zero], [])
        for arm in np.unique(sizes.part.arm[chosen]):
            mine, loss = chosen & (sizes.part.arm == arm), scores.arm_names[arm]
            found = binned(sizes.true[mine], sizes.part.value[mine], dsc[mine], edges)
            for drawn, curve in zip(marks, size_curves(found, loss, int(arm)), strict=True):
                drawn += curve
            upper = edges[np.minimum(found.number + 1, len(edges) - 1)]
            columns = (found.number, edges[found.number], upper, found.count, found.relative_error, found.dsc)
            rows += [[name, loss, *row] for row in zip(*(column.tolist() for column in columns), strict=True)]
        if len(views) < MOST_VIEWS:
            views.append(View(name, size_panels(*marks)))
    caption = (
        f"Regions from small to large, in up to {BINS} groups of equally many. Below 0 the loss makes such regions too "
        "small, above 0 too large." + sizes.note
    )
    return Figure("size-errors", TITLE, caption, SECTION, views, COLUMNS, rows, choose="data and class")


def size_edges(true: np.ndarray) -> np.ndarray:
    """Ends of up to BINS groups of equally many regions."""
    return np.unique(np.quantile(true, np.linspace(0, 1, BINS + 1)))


def binned(true: np.ndarray, error: np.ndarray, dsc: np.ndarray, edges: np.ndarray) -> Bins:
    """Means over the regions between neighbouring edges; the centre is the geometric mean of their sizes.

    >>> found = binned(np.array([0.1, 0.2, 0.4]), np.array([0.01, -0.1, 0.0]), np.ones(3), np.array([0.1, 0.3, 0.4]))
    >>> found.count.tolist(), found.relative_error.round(3).tolist(), found.centre.round(3).tolist()
    ([2, 1], [-0.2, 0.0], [0.141, 0.4])
    """
    bins = np.clip(np.searchsorted(edges, true, side="right") - 1, 0, max(0, len(edges) - 2))
    (number,), centre, count = group_means([bins], np.log(true))
    relative, overlap = (group_means([bins], values)[1] for values in (error / true, dsc))
    return Bins(number, np.exp(centre), count, relative, overlap)


def size_curves(found: Bins, name: str, style: int) -> tuple[list[Mark], list[Mark]]:
    """Of one arm or class: the relative error, and the DSC."""
    return (
        _curve(found, 100 * found.relative_error, "{:+.3g} %", name, style),
        _curve(found, 100 * found.dsc, "{:.2f} %", name, style),
    )


def _curve(found: Bins, values: np.ndarray, form: str, name: str, style: int) -> list[Mark]:
    x, y = numbers(100 * found.centre), numbers(values)
    tips = [
        f"{name}\n{n} regions around {100 * at:.3g} %: {form.format(value)}"
        for n, at, value in zip(found.count, found.centre, values, strict=True)
    ]
    return [Mark("line", x, y, name, style), Mark("points", x, y, name, style, text=tips, listed=False)]


def size_panels(errors: list[Mark], overlaps: list[Mark]) -> list[Panel]:
    """The two side by side, over sizes on a logarithmic axis."""
    axis = "true size (% of the image)"
    return [
        Panel(errors, "size error", axis, "(predicted − true) / true (%)", x_log=True),
        Panel(overlaps, "overlap", axis, "mean DSC (%)", x_log=True),
    ]
