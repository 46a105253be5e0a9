"""The local engine: this process, and others of this machine that help where that is faster."""

import resource
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from sizewise.parallel import available_cores
from sizewise.study.folder import run_state
from sizewise.study.grid import PlannedRun
from sizewise.study.helper import end_helpers, start_helper
from sizewise.study.packing import CORES_EACH, MOST_PER_GPU, Jobs, Memory, Moment, fits, gpu_for_another
from sizewise.study.worker import deserves_another_try, forget_failures, work
from sizewise.train.config import Runtime
from sizewise.train.history import read_history
from sizewise.train.run_folder import is_finished
from sizewise.train.store import free_bytes

LONG_EPOCH_SECONDS = 60.0  # the first one tells the pace then: what came before its first step is a small part
LOOK_SECONDS = 0.5
CONTEXT_BYTES = 2**30  # of a process on a GPU beside its tensors: CUDA's context, kernels, handles of libraries


def run_local(
    folder: Path, runs: list[PlannedRun], *, runtime: Runtime, jobs: Jobs, after_run: Callable[[PlannedRun], None]
) -> None:
    """Carry out the runs. With a number of jobs, so many processes work from the start, and share out the cores.

    Small networks leave most of a second core idle: two runs with a core each take less time than one after the other
    with two. With "auto" this process works alone on a CPU; on a GPU, others join it as :mod:`sizewise.study.packing`
    decides. A run that a helper left behind, or that did not fit beside others, is repeated alone at the end.
    """
    forget_failures(folder, runs)
    crew = Crew(folder, runs, runtime=runtime, jobs=jobs, after_run=after_run)
    try:
        crew.begin()
        work(folder, runs, runtime=runtime, say=crew.look, after_run=crew.announce, sharing=crew.size)
        crew.wait()
    finally:
        end_helpers(crew.helpers)
    left = [run for run in runs if deserves_another_try(folder / "runs" / run.name)] if crew.helpers else []
    forget_failures(folder, left)
    work(folder, left, runtime=runtime, after_run=after_run)


class Crew:
    """The processes that carry out a study on this machine; this one is the first, on the first GPU."""

    def __init__(
        self,
        folder: Path,
        runs: list[PlannedRun],
        *,
        runtime: Runtime,
        jobs: Jobs,
        after_run: Callable[[PlannedRun], None],
    ) -> None:
        self.folder, self.runs, self.runtime, self.jobs = folder, runs, runtime, jobs
        self.after_run = after_run
        self.helpers: list[subprocess.Popen[bytes]] = []
        self.gpus: list[int | None] = []  # of each helper
        self.devices = torch.cuda.device_count() if runtime.accelerator != "cpu" and runtime.devices == 1 else 0
        self.open = [run for run in runs if not is_finished(self._place(run))]
        self.told = {run.name for run in runs} - {run.name for run in self.open}
        self.started, self.before, self.looked = time.monotonic(), len(self.told), 0.0
        self.host_bytes = free_bytes(torch.device("cpu"))

    def begin(self) -> None:
        """Start those that are wanted at once."""
        if self.jobs == "auto":
            return
        threads = max(1, available_cores() // self.jobs)
        for number in range(1, min(self.jobs, len(self.open))):
            self._start(threads, gpu=number % self.devices if self.devices else None, sharing=self.jobs)
        if self.helpers:
            torch.set_num_threads(threads)

    def size(self) -> int:
        """The processes that are at work, this one included."""
        return 1 + sum(helper.poll() is None for helper in self.helpers)

    def look(self, line: str) -> None:
        """Called with every line that a run here has to say, so after each epoch: tell what others did, and grow.

        It is the thread that trains which asks, so no step is being captured meanwhile.
        """
        if time.monotonic() - self.looked < LOOK_SECONDS:
            return
        self._tell()
        if self.jobs == "auto" and self.devices:
            self._grow()
        self.looked = time.monotonic()

    def announce(self, run: PlannedRun) -> None:
        """A run was carried out, here or by a helper."""
        self.told.add(run.name)
        if self.helpers and deserves_another_try(self._place(run)):
            reason = run_state(self._place(run)).error
            print(f"{run.name} failed beside other runs, and is repeated alone at the end: {reason}", flush=True)
        else:
            self.after_run(run)

    def wait(self) -> None:
        """Until the helpers have nothing left to do."""
        while self.size() > 1:
            self._tell()
            time.sleep(LOOK_SECONDS)
        self._tell()

    def _tell(self) -> None:
        if not self.helpers:
            return
        for run in self.open:
            place = self._place(run)
            if run.name not in self.told and (is_finished(place) or (place / "failed.json").exists()):
                self.announce(run)

    def _grow(self) -> None:
        while (gpu := gpu_for_another(moment := self._moment())) is not None:
            beside = moment.workers[gpu]
            on_gpu = not beside or fits(self._device_memory(gpu), workers=beside)
            if not on_gpu or not fits(self._host_memory(), workers=self.size()):
                return
            if any(helper.poll() is not None for helper in self.helpers):
                return  # it found nothing to do, or did not fit, or was killed: so would another
            most = min(MOST_PER_GPU * self.devices, moment.cores // CORES_EACH, moment.unfinished)
            self._start(max(1, moment.cores // most), gpu=gpu, sharing=most)

    def _device_memory(self, gpu: int) -> Memory:
        free, total = torch.cuda.mem_get_info(gpu)
        return Memory(free, total, one=torch.cuda.max_memory_reserved(0) + CONTEXT_BYTES)

    def _host_memory(self) -> Memory:
        one = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return Memory(free_bytes(torch.device("cpu")), self.host_bytes + one, one=one)

    def _moment(self) -> Moment:
        alive = [gpu for helper, gpu in zip(self.helpers, self.gpus, strict=True) if helper.poll() is None]
        workers = [alive.count(gpu) + (gpu == 0) for gpu in range(self.devices)]
        waiting = [run for run in self.open if not is_finished(self._place(run))]
        waiting = [run for run in waiting if not (self._place(run) / "failed.json").exists()]
        return Moment(available_cores(), tuple(workers), len(waiting), self._seconds_left(waiting))

    def _seconds_left(self, waiting: list[PlannedRun]) -> float | None:
        """From the last epochs, or from the runs that ended so far, whichever is more."""
        paces, epochs = [], 0
        for run in waiting:
            path = self._place(run) / "history.csv"
            rows = read_history(path) if path.exists() else []
            epochs += run.config.epochs - len(rows)
            if len(rows) > 1 or (rows and rows[0]["seconds"] > LONG_EPOCH_SECONDS):
                later = rows[1:] or rows  # the first has the warm-up
                paces.append(sum(row["seconds"] for row in later) / len(later))
        ended = len(self.told) - self.before
        by_runs = (time.monotonic() - self.started) / ended * len(waiting) if ended else None
        by_epochs = max(paces) * epochs / self.size() if paces else None
        return max((one for one in (by_runs, by_epochs) if one is not None), default=None)

    def _start(self, threads: int, *, gpu: int | None, sharing: int) -> None:
        runtime = replace(self.runtime, sharing=sharing)
        self.helpers.append(start_helper(self.folder, runtime, threads=threads, gpu=gpu))
        self.gpus.append(gpu)

    def _place(self, run: PlannedRun) -> Path:
        return self.folder / "runs" / run.name
