"""Validation during training: the DSC and the loss of every arm over the epochs."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.saved import Run

SECTION = "Training"
TITLE = "Validation during training"
MOST_EPOCHS = 300  # points of a curve
COLUMNS = ("data", "loss", "seed", "epoch", "validation_dsc", "validation_loss")
SCALES = {"val_dsc": 100.0, "val_loss": 1.0}


def validation_curves(runs: Sequence[Run], arm_names: Sequence[str]) -> Figure | LeftOut:
    """Mean over seeds, and each seed faintly."""
    found: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if any("val_dsc" in row for row in run.history):
            found[run.setting][run.arm].append(run)
    if not found:
        return LeftOut("validation", TITLE, SECTION, "no run has a history with validation scores.")
    views, rows = [], []
    for setting, by_arm in found.items():
        marks: dict[str, list[Mark]] = {column: [] for column in SCALES}
        for style, arm in enumerate(arm_names):
            for column, drawn in marks.items():
                drawn += _marks([_curve(run, column) for run in by_arm.get(arm, ())], arm, style)
            rows += [
                [setting, arm, run.seed, int(row["epoch"]), row.get("val_dsc", ""), row.get("val_loss", "")]
                for run in by_arm.get(arm, ())
                for row in run.history
                if "val_dsc" in row
            ]
        panels = [
            Panel(marks["val_dsc"], "DSC", "epoch", "validation DSC (%)", x_whole=True),
            Panel(marks["val_loss"], "each loss on its own scale", "epoch", "validation loss", x_whole=True),
        ]
        views.append(View(setting, panels))
    caption = "Mean over seeds; each seed faintly behind it."
    return Figure("validation", TITLE, caption, SECTION, views, COLUMNS, rows, choose="data and model")


def _marks(curves: Sequence[dict[float, float]], arm: str, style: int) -> list[Mark]:
    if not curves:
        return []
    faint = [
        Mark("line", numbers(curve), numbers(curve.values()), arm, style, faint=True, listed=False)
        for curve in (curves if len(curves) > 1 else ())
    ]
    mean = _mean_curve(curves)
    return [*faint, Mark("line", numbers(mean), numbers(mean.values()), arm, style)]


def _curve(run: Run, column: str) -> dict[float, float]:
    points = {row["epoch"]: SCALES[column] * row[column] for row in run.history if column in row}
    keep = -(-len(points) // MOST_EPOCHS) or 1
    last = list(points)[-1:]
    return {epoch: value for at, (epoch, value) in enumerate(points.items()) if at % keep == 0 or epoch in last}


def _mean_curve(curves: Sequence[dict[float, float]]) -> dict[float, float]:
    """Over the epochs that every seed has, so that the mean does not jump where a run ended early."""
    shared = set(curves[0]).intersection(*curves[1:])
    return {epoch: float(np.mean([curve[epoch] for curve in curves])) for epoch in sorted(shared)}
