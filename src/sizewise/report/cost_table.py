"""What each loss cost to train, beside what it scored, as a table."""

from collections.abc import Sequence

import numpy as np

from sizewise.metrics.registry import METRICS
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.means import overall_means
from sizewise.report.saved import Run
from sizewise.report.scores import Scores

COLUMNS = (  # in cost.json, head, form
    ("step_ms", "ms per step", "{:.1f}"),
    ("peak_memory_mib", "peak memory (MiB)", "{:.0f}"),
    ("train_seconds", "training (s)", "{:,.1f}"),
)


def cost_table(runs: Sequence[Run], scores: Scores) -> Table | None:
    """Medians over the runs of each arm; None where no run recorded its cost.

    Memory that is of a whole process is left out: it may have trained several losses.
    """
    measured = [run for run in runs if run.cost and run.finished]
    of_process = any(run.cost.get("memory_of") == "process" for run in measured)
    shown = [
        column
        for column in COLUMNS
        if any(column[0] in run.cost for run in measured) and not (column[0] == "peak_memory_mib" and of_process)
    ]
    if not shown:
        return None
    rows = []
    for (setting, arm), mean in sorted(overall_means(scores, "dsc").items()):
        name = scores.settings[setting], scores.arm_names[arm]
        mine = [run for run in measured if (run.setting, run.arm) == name]
        if not mine:
            continue
        cells = [*map(Cell, name), Cell(f"{100 * mean.mean:.2f}", mean.mean)]
        for key, _, form in shown:
            values = [run.cost[key] for run in mine if run.cost.get(key) is not None]
            middle = float(np.median(values)) if values else None
            cells.append(Cell("–" if middle is None else form.format(middle), middle))
        rows.append([*cells, Cell(str(len(mine)), len(mine))])
    note = "Medians over runs. Times can be compared where the runs had the machine to themselves."
    columns = ["data", "loss", METRICS["dsc"].head, *(head for _, head, _ in shown), "runs"]
    return Table("cost", "Training cost beside score", columns, rows, note, heads=2)
