"""What ``sizewise train`` prints around a run."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from sizewise.cli.flags import in_flags
from sizewise.cli.score_screen import show_decisions
from sizewise.cli.show import show_next
from sizewise.errors import RunFailed
from sizewise.metrics.cases_csv import read_cases
from sizewise.progress import is_first_process, print_at_once
from sizewise.train.config import Runtime
from sizewise.train.decided_labels import decision_names
from sizewise.train.machine import free_threads, settle_precision
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training
from sizewise.train.run_folder import discard_unstarted, run_name


def carry_out(settings: dict[str, Any], runtime: Runtime, *, out: Path | None, resume: bool, decide: str) -> None:
    """Resolve, run, and show the scores of each decision. Of several processes the first one speaks."""
    decisions = decision_names(decide.split(","), argument="decide")
    runtime = replace(runtime, threads=runtime.threads or free_threads())
    speaks = is_first_process()
    run = resolve(settings)
    folder = out or Path("runs") / run_name(settle_precision(run.config, runtime), run.dataset.name)
    new = not (folder / "config.json").exists()
    if speaks:
        for note in run.dataset.notes:  # such as how frames were grouped, which decides what the scores mean
            print_at_once(f"note: {in_flags(note)}")
    try:
        run_training(run, folder=folder, runtime=runtime, resume=resume, decisions=decisions)
    except KeyboardInterrupt:
        if speaks and (folder / "config.json").exists():
            print(f"{folder} is intact: the same command with --resume --out {folder} goes on.", file=sys.stderr)
        raise
    except RunFailed:
        if new and speaks:  # nothing is lost, and the corrected command may use the folder
            discard_unstarted(folder)
        raise
    if speaks:
        title, unit = f"Test scores of {folder}", run.dataset.reader.length_unit
        show_decisions(read_cases(folder / "cases.csv"), title=title, names=run.task.names, length_unit=unit)
        print(f"Curves: {folder / 'curves.png'}   every case: {folder / 'cases.csv'}")
        show_next(
            shlex.join(["sizewise", "predict", str(folder), "--data", str(settings["data"]), "--out", "predictions"])
        )
