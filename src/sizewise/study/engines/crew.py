"""The processes that carry out a study on this machine; this one is the first, on the first GPU.

Runs are handed out one at a time, here and to helpers, and helpers report in lines (see ``helper``). So everything that
is known is known because somebody said it: which runs are taken, how long their epochs take, and how they ended.
"""

import contextlib
import resource
import subprocess
import threading
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import torch

from sizewise.parallel import available_cores
from sizewise.progress import print_at_once
from sizewise.study.engines.engine import StudyWork
from sizewise.study.engines.helper import end_helpers, start_helper
from sizewise.study.engines.ledger import Ledger
from sizewise.study.engines.packing import CORES_EACH, MOST_PER_GPU, Jobs, Memory, Moment, fits, gpu_for_another
from sizewise.study.grid import PlannedRun
from sizewise.study.study_folder import run_status
from sizewise.study.worker import Worker, forget_failures
from sizewise.train.history import Row
from sizewise.train.run_folder import is_finished
from sizewise.train.store import free_bytes

CONTEXT_BYTES = 2**30  # of a process on a GPU beside its tensors: CUDA's context, kernels, handles of libraries


class Crew:
    """This process and its helpers."""

    def __init__(self, work: StudyWork, jobs: Jobs) -> None:
        self.work, self.jobs = work, jobs
        self.runs = {run.name: run for run in work.runs if not is_finished(self._place(run), run.decisions)}
        self.ledger = Ledger(deque(self.runs.values()))
        self.worker = Worker(work.folder)
        self.helpers: list[Helper] = []
        self.full = False  # a helper did not fit, or died: so would another
        self.leaving = False  # helpers that still work are being ended
        self.started = time.monotonic()
        self.host_bytes = free_bytes(torch.device("cpu"))
        runtime = work.runtime
        self.gpus = torch.cuda.device_count() if runtime.accelerator != "cpu" and runtime.devices == 1 else 0

    def run(self) -> None:
        """Carry out all runs; those that did not fit beside others, or whose helper died, alone at the end."""
        try:
            if self.jobs != "auto":
                cores = max(1, available_cores() // self.jobs)
                for number in range(1, min(self.jobs, len(self.runs))):
                    self._start(cores, gpu=number % self.gpus if self.gpus else None, sharing=self.jobs)
            while run := self.ledger.take():
                self._carry_out(run)
            for helper in self.helpers:
                helper.thread.join()
        finally:
            self.leaving = True
            end_helpers([helper.process for helper in self.helpers])
            for helper in self.helpers:
                helper.close()
        forget_failures(self.work.folder, self.ledger.alone)
        for run in self.ledger.alone:
            self.worker.carry_out(run, replace(self.work.runtime, sharing=1))
            self.work.after_run(run)

    def size(self) -> int:
        """The processes that are at work, this one included."""
        return 1 + sum(helper.thread.is_alive() for helper in self.helpers)

    def _carry_out(self, run: PlannedRun) -> None:
        def after_epoch(row: Row) -> None:
            self.ledger.note_epoch(run.name, row["seconds"])
            self._grow()

        self._grow()  # a GPU that has nobody gets somebody at once
        runtime = replace(self.work.runtime, sharing=self.size())
        self.ended(run, self.worker.carry_out(run, runtime, on_epoch=after_epoch))

    def _grow(self) -> None:
        """Start helpers while another is worth it. The thread that trains asks, so no step is being captured."""
        while self.jobs == "auto" and self.gpus and not self.full:
            moment = self._moment()
            gpu = gpu_for_another(moment)
            if gpu is None:
                return
            beside = moment.workers[gpu]
            on_gpu = not beside or fits(self._device_memory(gpu), workers=beside)
            if not on_gpu or not fits(self._host_memory(), workers=self.size()):
                return
            most = min(MOST_PER_GPU * self.gpus, moment.cores // CORES_EACH, moment.unfinished)
            self._start(max(1, moment.cores // most), gpu=gpu, sharing=most)

    def ended(self, run: PlannedRun, outcome: str) -> None:
        """A run was carried out, here or by a helper."""
        again = outcome == "left" or (outcome == "crowded" and bool(self.helpers))
        worked = outcome in ("finished", "failed", "crowded")
        self.ledger.note_end(run, again=again, worked=worked)
        if again:
            self.full = True
            reason = run_status(self._place(run), run.decisions).error or "its process died"
            print_at_once(f"{run.name} failed beside other runs, and is repeated alone at the end: {reason}")
        elif worked:
            self.work.after_run(run)

    def _moment(self) -> Moment:
        busy = [helper.gpu for helper in self.helpers if helper.thread.is_alive()]
        workers = tuple(busy.count(gpu) + (gpu == 0) for gpu in range(self.gpus))
        elapsed = time.monotonic() - self.started
        left = self.ledger.seconds_left(elapsed=elapsed, workers=self.size())
        return Moment(available_cores(), workers, self.ledger.unfinished(), left)

    def _device_memory(self, gpu: int) -> Memory:
        free, total = torch.cuda.mem_get_info(gpu)
        return Memory(free, total, one=torch.cuda.max_memory_reserved(0) + CONTEXT_BYTES)

    def _host_memory(self) -> Memory:
        one = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return Memory(free_bytes(torch.device("cpu")), self.host_bytes + one, one=one)

    def _start(self, threads: int, *, gpu: int | None, sharing: int) -> None:
        runtime = replace(self.work.runtime, sharing=sharing)
        process = start_helper(self.work.folder, runtime, threads=threads, gpu=gpu)
        self.helpers.append(Helper(process, gpu, self))

    def _place(self, run: PlannedRun) -> Path:
        return self.work.folder / "runs" / run.name


class Helper:
    """Another process, as this one sees it: a thread hands runs to it and hears what becomes of them."""

    def __init__(self, process: subprocess.Popen[str], gpu: int | None, crew: Crew) -> None:
        self.process, self.gpu, self.crew = process, gpu, crew
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        """Until it has nothing more to do, or is dead; a run that it had then is repeated alone."""
        assert self.process.stdout is not None
        run: PlannedRun | None = None
        for line in self.process.stdout:
            word, *rest = line.split()
            if word == "epoch":
                self.crew.ledger.note_epoch(rest[0], float(rest[1]))
                continue
            if word == "ended" and run is not None:
                self.crew.ended(run, rest[1])
            run = None if self.crew.full and rest[1:] == ["crowded"] else self.crew.ledger.take()
            self._tell("" if run is None else run.name)
        if run is not None and not self.crew.leaving:
            self.crew.ended(run, "left")

    def close(self) -> None:
        """After its end: nothing more is heard."""
        self.thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _tell(self, name: str) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it has just died, which the end of its lines says
            self.process.stdin.write(f"{name}\n")
            self.process.stdin.flush()
