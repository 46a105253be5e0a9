"""What ``sizewise train`` does: resolve, run, and show the result."""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from sizewise.errors import RunFailed
from sizewise.metrics.cases_csv import read_cases
from sizewise.train.config import RunConfig, Runtime


def start_run(settings: dict[str, Any], machine: dict[str, Any], *, out: Path | None, resume: bool) -> Path:
    """Carry out a run and print its scores; returns the run folder."""
    from sizewise.cli.score_screen import show_scores
    from sizewise.cli.show import show_next
    from sizewise.train.machine import settle_precision
    from sizewise.train.resolve import resolve
    from sizewise.train.run import run_training, say_at_once
    from sizewise.train.run_folder import discard_unstarted
    from sizewise.train.task import make_task

    runtime = Runtime(**machine)
    config, dataset = resolve(settings)
    config = settle_precision(config, runtime)
    folder = out or default_folder(config, dataset.name)
    new = not (folder / "config.json").exists()
    if _is_first():
        for note in dataset.notes:  # such as how frames were grouped, which decides what the scores mean
            say_at_once(f"note: {note}")
    try:
        run_training(config, dataset, folder=folder, runtime=runtime, resume=resume)
    except KeyboardInterrupt:
        if _is_first() and (folder / "config.json").exists():
            print(f"{folder} is intact: the same command with --resume --out {folder} goes on.", file=sys.stderr)
        raise
    except RunFailed:
        if new and _is_first():  # nothing is lost, and the corrected command may use the folder
            discard_unstarted(folder)
        raise
    if not _is_first():
        return folder
    names = make_task(config, dataset).names
    show_scores(read_cases(folder / "cases.csv"), title=f"Test scores of {folder}", names=names)
    print(f"Curves: {folder / 'curves.png'}   every case: {folder / 'cases.csv'}")
    show_next(f"sizewise predict {shlex.quote(str(folder))} --data PATH --out predictions")
    return folder


def default_folder(config: RunConfig, data: str) -> Path:
    """runs/DATA-MODEL-LOSS-SEED-HASH, in letters that every file system takes."""
    words = [data, config.model, config.loss, f"s{config.seed}", config.hash]
    return Path("runs") / re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(words))


def _is_first() -> bool:
    """Whether this is the only process, or the first of several."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0"))) == 0
