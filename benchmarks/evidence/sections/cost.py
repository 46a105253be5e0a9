"""What a loss costs: per step on the GPU, from the benchmark's table, and what the runs of this study took."""

import csv
import statistics
from pathlib import Path

from sections.study import EvidenceSet
from sections.wording import NO_VALUE, table
from sizewise.report.formatted_table import Cell, Table

BENCHMARK = Path(__file__).parents[2] / "results" / "h200.csv"


def cost_section(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """Both tables."""
    return [*table(_steps()), *table(_training(sets))]


def _steps() -> Table:
    with open(BENCHMARK, encoding="utf-8", newline="") as file:
        lines = [one for one in csv.DictReader(file) if one["library"] == "sizewise" and one["logits"] == "float32"]
        lines = [one for one in lines if one.get("layout", "contiguous") == "contiguous"]
    shapes = list(dict.fromkeys(one["shape"] for one in lines))
    found = {(one["loss"], one["shape"]): one["device_ms"] for one in lines}
    rows = [
        [Cell(loss), *(Cell(found.get((loss, shape)) or NO_VALUE) for shape in shapes)]
        for loss in dict.fromkeys(one["loss"] for one in lines)
        if "," not in loss  # other ways to call the same loss: the page Speed and memory has them
    ]
    first = lines[0]
    note = (
        f"Milliseconds of the device for value and gradient, float32 logits ({first['device']}, torch "
        f"{first['torch']}, commit {first['commit']})."
    )
    return Table(
        "cost", "Cost per step of each loss", ["loss, ms", *(one.replace("x", "×") for one in shapes)], rows, note
    )


def _training(sets: tuple[EvidenceSet, ...]) -> Table:
    rows = []
    for one in sets:
        steps = {each["steps"] for each in one.runs}
        per_step = [
            1000 * float(each["train_seconds"]) / float(each["steps"]) for each in one.runs if float(each["steps"])
        ]
        seconds = sorted(float(each["train_seconds"]) for each in one.runs)
        rows.append(
            [
                Cell(one.title),
                Cell(str(len(one.runs))),
                Cell(" or ".join(sorted(steps))),
                Cell(f"{statistics.median(seconds):.0f} ({seconds[0]:.0f} to {seconds[-1]:.0f})"),
                Cell(f"{statistics.median(per_step):.1f}"),
                Cell(f"{sum(seconds) / 3600:.2f}"),
            ]
        )
    heads = ["set", "runs", "steps", "training of a run, s", "ms a step", "all runs, hours"]
    note = (
        "The median and the range over all runs of the tables. Several runs shared the GPU, so a run by itself is "
        "faster."
    )
    return Table("training", "What the runs took", heads, rows, note)
