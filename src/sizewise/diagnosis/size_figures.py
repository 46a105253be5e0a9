"""Figures of a diagnosis that need label maps alone: sizes, and components."""

from collections.abc import Sequence

import numpy as np

from sizewise.diagnosis.collected import Collected
from sizewise.diagnosis.component_errors import size_words
from sizewise.diagnosis.summary import ClassSummary
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.figures.error_by_size import BINS, binned, size_curves, size_edges, size_panels
from sizewise.report.figures.error_by_size import TITLE as ERROR_TITLE
from sizewise.report.figures.size_agreement import CAPTION, Agreement, agreement_panel
from sizewise.report.figures.size_agreement import TITLE as AGREEMENT_TITLE

SECTION = "Sizes"
COMPONENTS = "Components"
MOST_PANELS = 12
MOST_DOTS = 400


def size_agreement_figure(found: Collected, classes: Sequence[ClassSummary]) -> Figure:
    """Predicted minus true size over the true size of every case, with bias and limits (Bland and Altman)."""
    panels = []
    cases = [name for name, valid_px in zip(found.cases, found.valid_px, strict=True) if valid_px]
    for style, one in enumerate(classes[:MOST_PANELS]):
        predicted, true = found.sizes(one.class_id)
        size = Agreement(one.bias, one.lower, one.upper)
        panels.append(agreement_panel(one.name, true, predicted - true, size, cases=cases, style=style, dots=MOST_DOTS))
    rows = [[one.name, one.cases, one.bias, one.relative, one.lower, one.upper] for one in classes]
    columns = ("class", "cases_with_it", "bias", "relative_bias", "lower_limit", "upper_limit")
    caption = CAPTION + _first(classes)
    return Figure("sizes", AGREEMENT_TITLE, caption, SECTION, [View("", panels)], columns, rows, height=0.8)


def size_error_figure(found: Collected, classes: Sequence[ClassSummary]) -> Figure | LeftOut:
    """The relative size error and the DSC of small to large regions, by class."""
    marks: tuple[list[Mark], list[Mark]] = ([], [])
    rows: list[list[object]] = []
    for style, one in enumerate(classes):
        predicted, true = found.sizes(one.class_id)
        dsc = np.array(
            [found.classes[one.class_id].rows.get(n, (0,) * 4)[3] for n in np.flatnonzero(found.valid_px).tolist()]
        )
        there = true > 0
        if there.sum() < 2:
            continue
        error = (predicted - true)[there]
        part = binned(true[there], error, np.nan_to_num(dsc[there]), size_edges(true[there]))
        for drawn, curve in zip(marks, size_curves(part, one.name, style), strict=True):
            drawn += curve
        table = zip(part.centre, part.count, part.relative_error, part.dsc, strict=True)
        rows += [[one.name, float(at), int(n), float(error), float(score)] for at, n, error, score in table]
    if not rows:
        return LeftOut("size-errors", ERROR_TITLE, SECTION, "no class is in two cases or more.")
    everything = [value for mark in marks[0] for value in mark.x if value is not None]
    zero = Mark("line", [min(everything), max(everything)], [0.0, 0.0])
    panels = size_panels([zero, *marks[0]], marks[1])
    caption = (
        f"Regions of each class from small to large, in up to {BINS} groups of equally many. Below 0 such regions are "
        "predicted too small, above 0 too large."
    )
    columns = ("class", "true_proportion", "cases", "mean_relative_error", "mean_dsc")
    return Figure("size-errors", ERROR_TITLE, caption, SECTION, [View("", panels)], columns, rows)


def component_figure(found: Collected, classes: Sequence[ClassSummary]) -> Figure | LeftOut:
    """The share of true components that were missed, and the number of invented ones, by size."""
    marks: tuple[list[Mark], list[Mark]] = ([], [])
    rows: list[list[object]] = []
    used = sum(
        found.classes[one.class_id].components.true + found.classes[one.class_id].components.predicted
        for one in classes
    )
    last = int(np.flatnonzero(used)[-1]) + 1 if np.any(used) else 0
    title = "Missed and invented components"
    if not last:
        return LeftOut("components", title, COMPONENTS, "neither the targets nor the predictions hold any region.")
    for style, one in enumerate(classes):
        parts = found.classes[one.class_id].components
        x = [float(group) for group in range(last)]
        missed, true, invented, drawn = (
            values[:last].tolist() for values in (parts.missed, parts.true, parts.invented, parts.predicted)
        )
        shares: list[float | None] = [
            100 * lost / all_ if all_ else None for lost, all_ in zip(missed, true, strict=True)
        ]
        tips = (
            [f"{one.name}: {lost} of {all_} missed" for lost, all_ in zip(missed, true, strict=True)],
            [f"{one.name}: {more} of {all_} invented" for more, all_ in zip(invented, drawn, strict=True)],
        )
        for panel, y, text in zip(marks, (shares, numbers(invented)), tips, strict=True):
            panel += [Mark("line", x, y, one.name, style)]
            panel += [Mark("points", x, y, one.name, style, text=text, listed=False)]
        rows += [
            [one.name, size_words(group), true[group], missed[group], drawn[group], invented[group]]
            for group in range(last)
        ]
    ticks = [(float(group), size_words(group)) for group in range(last)]
    panels = [
        Panel(marks[0], "missed", "true component (pixels)", "share missed (%)", x_ticks=ticks, y_range=(-4.0, 104.0)),
        Panel(marks[1], "invented", "predicted component (pixels)", "number invented", x_ticks=ticks),
    ]
    caption = (
        "Connected parts of a class, by their size (k is 1,024 pixels); pixels that touch at a corner belong together. "
        "A true one is missed if none of its pixels was predicted, a predicted one is invented if none of "
        "its pixels is true."
    )
    columns = ("class", "pixels", "true", "missed", "predicted", "invented")
    return Figure("components", title, caption, COMPONENTS, [View("", panels)], columns, rows)


def _first(classes: Sequence[ClassSummary]) -> str:
    return f" The first {MOST_PANELS} of {len(classes)} classes are drawn." if len(classes) > MOST_PANELS else ""
