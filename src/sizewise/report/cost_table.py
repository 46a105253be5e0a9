"""What each loss cost to train, beside what it scored, as a table."""

from collections.abc import Mapping, Sequence

import numpy as np

from sizewise.report.saved import Run
from sizewise.report.table import Cell, Table

COLUMNS = (  # in cost.json, head, form
    ("step_ms", "ms per step", "{:.1f}"),
    ("peak_memory_mib", "peak memory (MiB)", "{:.0f}"),
    ("train_seconds", "training (s)", "{:,.1f}"),
)


def cost_table(runs: Sequence[Run], scores: Mapping[tuple[str, str], float], entries: Sequence[str]) -> Table | None:
    """Medians over the runs of each loss; None where no run recorded its cost.

    Args:
        runs: with their ``cost``. Memory that is of a whole process is left out: it may have trained several losses.
        scores: mean DSC by (arena, entry).
        entries: all losses, in order.
    """
    measured = [run for run in runs if run.cost and (run.arena, run.entry) in scores]
    shown = [
        column
        for column in COLUMNS
        if any(column[0] in run.cost for run in measured)
        and not (column[0] == "peak_memory_mib" and any(run.cost.get("memory_of") == "process" for run in measured))
    ]
    if not shown:
        return None
    rows = []
    for arena in dict.fromkeys(run.arena for run in measured):
        for entry in entries:
            mine = [run for run in measured if (run.arena, run.entry) == (arena, entry)]
            if not mine:
                continue
            cells = [Cell(arena), Cell(entry), Cell(f"{100 * scores[arena, entry]:.2f}", scores[arena, entry])]
            for name, _, form in shown:
                values = [run.cost[name] for run in mine if run.cost.get(name) is not None]
                middle = float(np.median(values)) if values else None
                cells.append(Cell("–" if middle is None else form.format(middle), middle))
            rows.append([*cells, Cell(str(len(mine)), len(mine))])
    note = "Medians over runs. Times can be compared where the runs had the machine to themselves."
    columns = ["data", "loss", "DSC (%)", *(head for _, head, _ in shown), "runs"]
    return Table("cost", "Training cost beside score", columns, rows, note, heads=2)
