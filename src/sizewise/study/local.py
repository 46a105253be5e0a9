"""The local engine: this process, or several on this machine."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from sizewise.metrics.workers import available_cores
from sizewise.study.folder import read_study
from sizewise.study.grid import PlannedRun, plan_runs
from sizewise.study.worker import work
from sizewise.train.config import Runtime


def run_local(
    folder: Path, runs: list[PlannedRun], *, runtime: Runtime, jobs: int, after_run: Callable[[PlannedRun], None]
) -> None:
    """Carry out the runs; with ``jobs`` > 1, other processes of this machine help, and the cores are shared out.

    Small networks leave most of a second core idle: two runs with a core each take less time than one after the other
    with two.
    """
    threads = max(1, available_cores() // jobs)
    helpers = [_start_helper(folder, runtime, threads) for _ in range(jobs - 1)]
    if helpers:
        torch.set_num_threads(threads)
    try:
        work(folder, runs, runtime=runtime, after_run=after_run)
        for helper in helpers:
            helper.wait()
    finally:
        for helper in helpers:
            helper.terminate()
    if helpers:  # a helper may have died with a run in its hands
        work(folder, runs, runtime=runtime, after_run=after_run)


def _start_helper(folder: Path, runtime: Runtime, threads: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sizewise.study.local", str(folder), runtime.accelerator]
    return subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": str(threads)}, stdout=subprocess.DEVNULL)


def main() -> None:
    """A helper process: takes the runs of the study from the other end, so that it rarely meets its parent."""
    folder, accelerator = Path(sys.argv[1]), sys.argv[2]
    runtime = Runtime(accelerator=accelerator)  # type: ignore[arg-type]
    work(folder, list(reversed(plan_runs(read_study(folder)))), runtime=runtime)


if __name__ == "__main__":
    main()
