"""Figures of a diagnosis that need probabilities: reliability, and DSC over the threshold."""

from collections.abc import Sequence

import numpy as np

from sizewise.diagnosis.case_source import NO_PROBABILITIES
from sizewise.diagnosis.collected import Collected
from sizewise.diagnosis.probability_histogram import BINS
from sizewise.diagnosis.size_figures import MOST_PANELS
from sizewise.diagnosis.summary import ClassSummary, Thresholds
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers

SECTION = "Probabilities"
SHOWN_BELOW = 0.3  # of the curve, so that its top can be seen
DRAWN = 2  # every so-many-th threshold is drawn; the best is found among all


def reliability_figure(found: Collected, classes: Sequence[ClassSummary]) -> Figure | LeftOut:
    """How often the class is there, over how probable it was said to be."""
    title = "Reliability"
    marks = [Mark("line", [0.0, 1.0], [0.0, 1.0], "calibrated", dashed=True)]
    rows: list[list[object]] = []
    for style, one in enumerate(classes):
        histogram = found.classes[one.class_id].histogram
        if histogram is None:
            return LeftOut("reliability", title, SECTION, NO_PROBABILITIES)
        pixels, confidence, share = histogram.reliability()
        there = pixels > 0
        x, y = numbers(confidence[there]), numbers(share[there])
        tips = [
            f"{one.name}\n{int(n):,} pixels said {c:.3f}, true {s:.3f}"
            for n, c, s in zip(pixels[there], confidence[there], share[there], strict=True)
        ]
        marks += [Mark("line", x, y, one.name, style), Mark("points", x, y, one.name, style, text=tips, listed=False)]
        rows += [
            [one.name, int(n), float(c), float(s)]
            for n, c, s in zip(pixels[there], confidence[there], share[there], strict=True)
        ]
    panel = Panel(marks, "", "mean probability of the class", "share of pixels that are of it", x_range=(0.0, 1.0))
    errors = ", ".join(f"{one.name} {100 * one.ece:.2f} %" for one in classes)
    caption = (
        "Pixels by the probability of a class, one class against the rest. Below the diagonal the network is too sure "
        f"that it is there. Expected calibration error (ece), over all pixels: {errors}."
    )
    columns = ("class", "pixels", "mean_probability", "true_share")
    return Figure("reliability", title, caption, SECTION, [View("", [panel])], columns, rows)


def threshold_figure(found: Collected, classes: Sequence[ClassSummary]) -> Figure | LeftOut:
    """Mean DSC of {p ≥ threshold}, with the predictions, D/2 and the best threshold marked."""
    title = "DSC over the threshold"
    shown = [(one.name, one.thresholds) for one in classes if one.thresholds is not None]
    if not shown:
        known = any(one.histogram is not None for one in found.classes.values())
        why = "no case has any of the classes." if known else NO_PROBABILITIES
        return LeftOut("thresholds", title, SECTION, why)
    panels = [_threshold_panel(name, one) for name, one in shown[:MOST_PANELS]]
    rows = [[name, one.now, one.half, one.half_dsc, one.best, one.best_dsc] for name, one in shown]
    columns = ("class", "dsc_as_predicted", "threshold_half", "dsc_at_half", "threshold_best", "dsc_at_best")
    caption = (
        "One class against the rest: the mean DSC of the pixels that are at least so probable, over the cases that "
        "have the class, as far as it is within 30 points of its best. With calibrated probabilities the best "
        "threshold is near D/2, half of the best DSC; where it is not, a temperature helps. argmax is at 1/2 with two "
        "classes; with more it is no threshold, and its DSC is drawn there. The best one was found on these very "
        "cases: it is what a threshold could give, not a promise."
    )
    if len(shown) > MOST_PANELS:
        caption += f" The first {MOST_PANELS} of {len(shown)} classes are drawn."
    return Figure("thresholds", title, caption, SECTION, [View("", panels)], columns, rows)


def _threshold_panel(name: str, one: Thresholds) -> Panel:
    x = np.arange(0, BINS, DRAWN) / BINS
    curve = one.curve[::DRAWN]
    near = np.where(curve >= one.best_dsc - SHOWN_BELOW, 100 * curve, np.nan)
    marks = [Mark("line", numbers(x), numbers(near), "", 0)]
    points = (("as predicted", 0.5, one.now), ("D/2", one.half, one.half_dsc), ("best", one.best, one.best_dsc))
    for style, (label, at, dsc) in enumerate(points, start=1):
        tip = f"{label}: {100 * dsc:.2f} at {at:.3f}"
        marks.append(Mark("points", numbers([at]), numbers([100 * dsc]), label, style, text=[tip]))
    return Panel(marks, name, "threshold on the probability", "mean DSC (%)", x_range=(0.0, 1.0))
