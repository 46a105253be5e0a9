"""What a run cost: time per step and peak memory, for the report to set beside its scores."""

import json
import resource
import statistics
from pathlib import Path

import torch

from sizewise.files import write_whole
from sizewise.train.history import read_history


def write_cost(folder: Path, device: torch.device) -> None:
    """Write cost.json from the history. The first epoch is a warm-up, and counts only where it is the only one."""
    rows = read_history(folder / "history.csv")
    counted = rows[1:] or rows
    on_gpu = device.type == "cuda"
    peak = (
        torch.cuda.max_memory_allocated(device) if on_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )
    cost = {
        "epoch_seconds": statistics.median(row["train_seconds"] for row in counted),
        "step_ms": 1e3 * statistics.median(row["train_seconds"] / row["steps"] for row in counted),
        "train_seconds": sum(row["train_seconds"] for row in rows),
        "peak_memory_mib": peak / 2**20,
        "memory_of": "device" if on_gpu else "process",
    }
    write_whole(folder / "cost.json", json.dumps(cost, indent=1))
