"""What ``sizewise train`` does: resolve, run, and show the result."""

import os
import re
import sys
from pathlib import Path
from typing import Any

from sizewise.metrics.summary import ClassSummary, summarise
from sizewise.metrics.table import read_cases
from sizewise.train.config import RunConfig, Runtime


def start_run(settings: dict[str, Any], machine: dict[str, Any], *, out: Path | None, resume: bool) -> Path:
    """Carry out a run and print its scores; returns the run folder."""
    from sizewise.cli.show import show_next, show_table
    from sizewise.train.machine import settle_precision
    from sizewise.train.resolve import resolve
    from sizewise.train.run import run_training
    from sizewise.train.task import make_task

    runtime = Runtime(**machine)
    config, dataset = resolve(settings)
    config = settle_precision(config, runtime)
    folder = out or default_folder(config, dataset.name)
    try:
        run_training(config, dataset, folder=folder, runtime=runtime, resume=resume)
    except KeyboardInterrupt:
        if _is_first() and (folder / "config.json").exists():
            print(f"{folder} is intact: the same command with --resume --out {folder} goes on.", file=sys.stderr)
        raise
    if not _is_first():
        return folder
    names = make_task(config, dataset).names
    rows = [score_cells(names.get(one.class_id, ""), one) for one in summarise(read_cases(folder / "cases.csv"))]
    show_table(f"Test scores of {folder}", SCORE_COLUMNS, rows)
    print(f"Curves: {folder / 'curves.png'}   every case: {folder / 'cases.csv'}")
    show_next(f"sizewise predict {folder} --data PATH --out predictions")
    return folder


SCORE_COLUMNS = (
    "class",
    "cases",
    "DSC",
    "IoU",
    "NSD",
    "HD95",
    "size error",
    "DSC pooled",
    "IoU pooled",
    "missed",
    "false alarms",
    "TN",
)


def score_cells(name: str, one: ClassSummary) -> list[str]:
    """A line of the table: means over cases, then the pooled scores."""
    means = [
        number(one.means.get(metric), digits)
        for metric, digits in (("dsc", 3), ("iou", 3), ("nsd", 3), ("hd95", 1), ("size_error", 3))
    ]
    pooled = [number(one.pooled.get(metric), 3) for metric in ("dsc_pooled", "iou_pooled")]
    empty = (one.missed, one.false_alarms, one.true_negatives)
    return [f"{one.class_id} {name}".strip(), str(one.cases), *means, *pooled, *map(str, empty)]


def number(value: float | None, digits: int) -> str:
    """A few digits, or nothing.

    >>> number(0.12345, 3), number(None, 3)
    ('0.123', '')
    """
    return "" if value is None else f"{value:.{digits}f}"


def default_folder(config: RunConfig, data: str) -> Path:
    """runs/DATA-MODEL-LOSS-SEED-HASH, in letters that every file system takes."""
    words = [data, config.model, config.loss, f"s{config.seed}", config.hash]
    return Path("runs") / re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(words))


def _is_first() -> bool:
    """Whether this is the only process, or the first of several."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0"))) == 0
