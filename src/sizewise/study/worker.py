"""Carry out runs of a study in this process, one after another.

Several workers may serve one study, on one machine or on many that share the folder: a run folder's lock keeps them
apart, and a worker that dies lets go of it. Data are decoded once and shared by the runs on the same data set.
"""

import json
import traceback
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Literal

from sizewise.data.dataset import Dataset
from sizewise.errors import BadInput, RunFailed
from sizewise.files import write_whole
from sizewise.study.grid import PlannedRun
from sizewise.train.config import Runtime
from sizewise.train.failures import is_out_of_memory
from sizewise.train.history import Row
from sizewise.train.run import run_training
from sizewise.train.run_folder import RunBusy, is_finished
from sizewise.train.store import StoreCache

GPU_WORDS = ("CUDA error", "CUDNN_STATUS", "cuDNN error", "CUBLAS_STATUS")  # of a GPU that is full, taken, or broken
Outcome = Literal["finished", "failed", "crowded", "elsewhere", "skipped"]


class Worker:
    """Carries out runs, and holds the decoded data of the data set that it works on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._dataset: Dataset | None = None
        self._stores = StoreCache()

    def carry_out(
        self, run: PlannedRun, runtime: Runtime, *, on_epoch: Callable[[Row], None] = lambda row: None
    ) -> Outcome:
        """Carry out one run. One that fails leaves failed.json.

        Returns:
            "crowded" where it failed and other processes may be why; "elsewhere" where another process has it.
        """
        place = self.folder / "runs" / run.name
        if is_finished(place, run.decisions) or (place / "failed.json").exists():
            return "skipped"
        if run.dataset is not self._dataset:
            self._dataset, self._stores = run.dataset, StoreCache()  # the next data set needs the memory
        try:
            run_training(
                run.run,
                folder=place,
                runtime=runtime,
                resume=True,
                decisions=run.decisions,
                stores=self._stores,
                log=lambda line: None,
                on_epoch=on_epoch,
            )
        except RunBusy:
            return "elsewhere"
        except (BadInput, RunFailed) as error:
            note_failure(place, str(error))
            return "crowded" if is_crowding(error) else "failed"
        except Exception as error:
            note_failure(place, f"{type(error).__name__}: {error}", details=traceback.format_exc())
            return "crowded" if is_crowding(error) else "failed"
        finally:
            release_memory()
        return "finished"


def note_failure(place: Path, error: str, *, details: str = "") -> None:
    """Write down why a run failed, beside what it has."""
    write_whole(place / "failed.json", json.dumps({"error": error, "details": details}, indent=1))


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


def release_memory() -> None:
    """A finished run's network and captured step are garbage: give their device memory to the next run."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
