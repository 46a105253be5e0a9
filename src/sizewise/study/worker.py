"""Carry out the runs of a study that nobody else is working on, one after another, in this process.

Several workers may serve one study, on one machine or on many that share the folder: a run folder's lock keeps them
apart, and a worker that dies lets go of it. Data are decoded once and shared by the runs on the same data set.
"""

import json
import traceback
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

from sizewise.errors import BadInput, RunFailed
from sizewise.files import write_whole
from sizewise.study.folder import run_state
from sizewise.study.grid import PlannedRun
from sizewise.train.config import Runtime
from sizewise.train.failures import is_out_of_memory
from sizewise.train.run import run_training
from sizewise.train.run_folder import RunBusy, is_finished
from sizewise.train.store import StoreCache

GPU_WORDS = ("CUDA error", "CUDNN_STATUS", "cuDNN error", "CUBLAS_STATUS")  # of a GPU that is full, taken, or broken


def work(
    folder: Path,
    runs: list[PlannedRun],
    *,
    runtime: Runtime,
    say: Callable[[str], None] = lambda line: None,
    after_run: Callable[[PlannedRun], None] = lambda run: None,
    sharing: Callable[[], int] | None = None,
    helps: bool = False,
) -> bool:
    """Carry out what is neither finished nor failed. A run that fails leaves failed.json, and the others go on.

    Args:
        folder: of the study.
        runs: in the order in which they are taken.
        runtime: where and how.
        say: takes the lines of each run.
        after_run: is called after each run that was carried out here.
        sharing: how many workers this machine has now; None: as ``runtime`` says.
        helps: this process only helps another one, and ends when memory or the GPU fails it.

    Returns:
        False if it ended so.
    """
    stores = StoreCache()
    for number, run in enumerate(runs):
        place = folder / "runs" / run.name
        if is_finished(place) or (place / "failed.json").exists():
            continue
        if number and runs[number - 1].dataset is not run.dataset:
            stores = StoreCache()  # the next data set needs the memory
        now = replace(runtime, sharing=sharing()) if sharing is not None else runtime
        crowded = False
        try:
            say(f"{run.name}:")
            run_training(run.config, run.dataset, folder=place, runtime=now, resume=True, say=say, stores=stores)
        except RunBusy:
            continue  # another worker has it
        except (BadInput, RunFailed) as error:
            crowded = is_crowding(error)
            note_failure(place, str(error), crowded=crowded)
        except Exception as error:
            crowded = is_crowding(error)
            note_failure(place, f"{type(error).__name__}: {error}", details=traceback.format_exc(), crowded=crowded)
        release_memory()
        after_run(run)
        if helps and crowded:
            return False
    return True


def note_failure(place: Path, error: str, *, details: str = "", crowded: bool = False) -> None:
    """Write down why a run failed, beside what it has; ``crowded``: it may go well alone."""
    place.mkdir(parents=True, exist_ok=True)
    content = {"error": error, "details": details, "crowded": crowded}
    write_whole(place / "failed.json", json.dumps(content, indent=1))


def is_crowding(error: BaseException | None) -> bool:
    """Whether other processes may be why a run failed: memory ran out, or the GPU refused.

    >>> is_crowding(RuntimeError("CUDA error: all CUDA-capable devices are busy")), is_crowding(ValueError("no class"))
    (True, False)
    """
    while error is not None:
        if is_out_of_memory(error) or isinstance(error, BrokenProcessPool):
            return True
        if isinstance(error, RuntimeError) and any(word in str(error) for word in GPU_WORDS):
            return True
        error = error.__cause__
    return False


def forget_failures(folder: Path, runs: list[PlannedRun]) -> None:
    """Runs that failed are tried again."""
    for run in runs:
        (folder / "runs" / run.name / "failed.json").unlink(missing_ok=True)


def deserves_another_try(place: Path) -> bool:
    """Whether a run was left behind by a worker that died, or failed where others may have been why."""
    state = run_state(place)
    if state.word != "failed":
        return state.word != "finished"
    return bool(json.loads((place / "failed.json").read_text()).get("crowded"))


def release_memory() -> None:
    """A finished run's network and captured step are garbage: give their device memory to the next run."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
