"""Figures of the training: validation curves, and what each loss costs beside what it scores."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.saved import Run

SECTION = "Training"
MOST_EPOCHS = 300  # points of a curve


def validation_curves(runs: Sequence[Run], entries: Sequence[str]) -> Figure | LeftOut:
    """The validation DSC and size error of every loss over the epochs: mean over seeds, and each seed faintly."""
    title = "Validation during training"
    found: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if any("val_dsc" in row for row in run.history):
            found[run.arena][run.entry].append(run)
    if not found:
        return LeftOut("validation", title, SECTION, "no run has a history with validation scores.")
    views, rows = [], []
    for arena, of_arena in found.items():
        marks: dict[str, list[Mark]] = {"val_dsc": [], "val_loss": []}
        for entry in (one for one in entries if one in of_arena):
            style = list(entries).index(entry)
            for column, drawn in marks.items():
                scale = 100 if column == "val_dsc" else 1
                curves = [_curve(run, column, scale=scale) for run in of_arena[entry]]
                if len(curves) > 1:
                    drawn += [
                        Mark(
                            "line", numbers(c), numbers(c.values()), label=entry, style=style, faint=True, listed=False
                        )
                        for c in curves
                    ]
                mean = _mean_curve(curves)
                drawn.append(Mark("line", numbers(mean), numbers(mean.values()), label=entry, style=style))
            rows += [
                [arena, entry, run.seed, int(row["epoch"]), row.get("val_dsc", ""), row.get("val_loss", "")]
                for run in of_arena[entry]
                for row in run.history
                if "val_dsc" in row
            ]
        panels = [
            Panel(marks["val_dsc"], "DSC", "epoch", "validation DSC (%)", x_whole=True),
            Panel(marks["val_loss"], "each loss on its own scale", "epoch", "validation loss", x_whole=True),
        ]
        views.append(View(arena, panels))
    columns = ["data", "loss", "seed", "epoch", "validation_dsc", "validation_loss"]
    caption = "Mean over seeds; each seed faintly behind it."
    return Figure("validation", title, caption, SECTION, views, columns, rows, choose="data and model")


def cost(runs: Sequence[Run], scores: Mapping[tuple[str, str], float], entries: Sequence[str]) -> Figure | LeftOut:
    """Time per step and peak memory of every loss beside its score.

    Args:
        runs: with their ``cost``.
        scores: mean DSC by (arena, entry).
        entries: all losses, in order.
    """
    title = "Training cost beside score"
    measured: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.cost and (run.arena, run.entry) in scores:
            measured[run.arena, run.entry].append(run)
    if not measured:
        return LeftOut("cost", title, SECTION, "no run recorded its cost.")
    kinds = {
        "step_ms": "time per step (ms)",
        "peak_memory_mib": "peak memory (MiB)",
        "train_seconds": "training time (s)",
    }
    about_memory = ""
    if any(run.cost.get("memory_of") == "process" for found in measured.values() for run in found):
        del kinds["peak_memory_mib"]  # a process that trained several losses has one peak for all
        about_memory = " Memory is left out: on a CPU it is that of a process, which may have trained several losses."
    kinds = {name: text for name, text in kinds.items() if any(name in r.cost for rs in measured.values() for r in rs)}
    views, rows = [], []
    for arena in dict.fromkeys(arena for arena, _ in measured):
        panels = []
        for name, text in kinds.items():
            marks = []
            for style, entry in enumerate(entries):
                values = [run.cost[name] for run in measured.get((arena, entry), []) if run.cost.get(name) is not None]
                if values:
                    middle, score = float(np.median(values)), scores[arena, entry]
                    says = f"{entry}\n{text}: {middle:.4g} (median of {len(values)})\nmean DSC: {100 * score:.2f} %"
                    marks.append(Mark("points", numbers([middle]), numbers([100 * score]), entry, style, text=[says]))
                    rows.append([arena, entry, name, middle, min(values), max(values), len(values), score])
            panels.append(Panel(marks, "", text, "mean DSC (%)"))
        views.append(View(arena, [panel for panel in panels if panel.marks]))
    return Figure(
        "cost",
        title,
        "Further up is a better score, further left is cheaper. Medians over runs; times are comparable where the runs "
        "had the machine to themselves." + about_memory,
        SECTION,
        views,
        ["data", "loss", "what", "median", "least", "most", "runs", "mean_dsc"],
        rows,
        choose="data and model",
    )


def _curve(run: Run, column: str, *, scale: float) -> dict[float, float]:
    points = {row["epoch"]: scale * row[column] for row in run.history if column in row}
    keep = -(-len(points) // MOST_EPOCHS) or 1
    last = list(points)[-1:]
    return {epoch: value for at, (epoch, value) in enumerate(points.items()) if at % keep == 0 or epoch in last}


def _mean_curve(curves: Sequence[dict[float, float]]) -> dict[float, float]:
    """Over the epochs that every seed has, so that the mean does not jump where a run ended early."""
    shared = set(curves[0]).intersection(*curves[1:]) if curves else set()
    return {epoch: float(np.mean([curve[epoch] for curve in curves])) for epoch in sorted(shared)}
