"""Carry out the runs of a study that nobody else is working on, one after another, in this process.

Several workers may serve one study, on one machine or on many that share the folder: a run folder's lock keeps them
apart, and a worker that dies lets go of it. Data are decoded once and shared by the runs.
"""

import json
import traceback
from collections.abc import Callable
from pathlib import Path

from sizewise.errors import BadInput, RunFailed
from sizewise.study.folder import run_state
from sizewise.study.grid import PlannedRun
from sizewise.train.config import Runtime
from sizewise.train.run import run_training
from sizewise.train.run_folder import RunBusy, write_atomically
from sizewise.train.store import StoreCache


def work(
    folder: Path,
    runs: list[PlannedRun],
    *,
    runtime: Runtime,
    say: Callable[[str], None] = lambda line: None,
    after_run: Callable[[PlannedRun], None] = lambda run: None,
) -> None:
    """Finish what is unfinished. A run that fails leaves failed.json, and the others go on."""
    stores = StoreCache()
    for run in runs:
        place = folder / "runs" / run.name
        if run_state(place).word == "finished":
            continue
        (place / "failed.json").unlink(missing_ok=True)
        try:
            say(f"{run.name}:")
            run_training(run.config, run.dataset, folder=place, runtime=runtime, resume=True, say=say, stores=stores)
        except RunBusy:
            continue  # another worker has it
        except (BadInput, RunFailed) as error:
            note_failure(place, str(error))
        except Exception as error:
            note_failure(place, f"{type(error).__name__}: {error}", details=traceback.format_exc())
        finally:
            release_memory()
        after_run(run)


def note_failure(place: Path, error: str, *, details: str = "") -> None:
    """Write down why a run failed, beside what it has."""
    place.mkdir(parents=True, exist_ok=True)
    write_atomically(place / "failed.json", json.dumps({"error": error, "details": details}, indent=1))


def release_memory() -> None:
    """A finished run's network and captured step are garbage: give their device memory to the next run."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
