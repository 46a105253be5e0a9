"""The checks that need a GPU, each in a process of its own, as many at a time as there are cores.

    PYTHONPATH=src:tests python tests/gpu_check.py [NAME …] [--all] [--jobs N] [--limit SECONDS] [--list]

Compiled kernels against float64 with every two options together, identical bits, CUDA graphs, torch.compile, bad labels,
more than 2^31 elements, the peak of memory; and training, also killed and resumed. A NAME is a check, one part of it, or
`training`; without one all run. `--all` takes every combination of options, for hours. A check that fails, dies or hangs
is named at the end, and the exit code is 1.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

if __name__ == "__main__":  # before torch is imported: no team of threads in each process, and GPUs are only looked at
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

from gpu.checks import CHECKS, preload
from gpu.processes import Outcome, Task, run_all

from sizewise.parallel import available_cores

LIMIT = 100.0


def main() -> int:
    """The exit code."""
    given = parsed()
    start = time.monotonic()
    if given.all:
        os.environ["SIZEWISE_EXHAUSTIVE"] = "1"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tasks = chosen(given.names, Path(given.folder or folder), given.device)
        if given.list:
            print("\n".join(task.name for task in tasks))
            return 0
        if given.here:
            for task in tasks:
                if within(task.name, given.names[0]):  # and not what it follows, which has been done
                    task.work()
            return 0
        preload(training=any(task.name.startswith("training") for task in tasks))
        if given.device == "cuda":
            tasks = [replace(task, work=partial(on_gpu, task, folder)) for task in tasks]
        shown(f"{len(tasks)} begin after {time.monotonic() - start:.0f} s of imports")
        limit = given.limit or (float("inf") if given.all else LIMIT)
        outcomes = run_all(tasks, jobs=given.jobs, limit=limit, gib=free_gib(given.device), show=shown)
    return summed_up(outcomes, time.monotonic() - start)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a check, one part of it, or training")
    parser.add_argument("--all", action="store_true", help="every combination of options, without a limit")
    parser.add_argument("--jobs", type=int, default=available_cores(), help="processes at a time")
    parser.add_argument("--limit", type=float, help=f"seconds after which a check is killed; {LIMIT:g}")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    parser.add_argument("--here", action="store_true", help="the first NAME alone, in this process")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: training alone")
    parser.add_argument("--folder", help="where runs of training are kept")
    return parser.parse_args()


def chosen(names: list[str], folder: Path, device: str) -> list[Task]:
    """The tasks of these names, or all of them."""
    every = [task for check in CHECKS for task in check.tasks()] if device == "cuda" else []
    if not names or any(name.startswith("training") for name in names):
        try:
            from gpu.check_training import training_tasks
        except ImportError as error:
            print(f"training is not tried: {error}. It needs pip install '.[train]'")
        else:
            every += training_tasks(folder, device)
    unknown = [name for name in names if not any(within(task.name, name) for task in every)]
    if unknown:
        raise SystemExit(f"There is no check {', '.join(unknown)} here; --list names all of them.")
    wanted = {task.name for task in every if not names or any(within(task.name, name) for name in names)}
    before = {one for task in every if task.name in wanted for one in task.after}
    return [task for task in every if task.name in wanted | before]


def within(task: str, name: str) -> bool:
    return task == name or task.startswith(f"{name}/")


def on_gpu(task: Task, folder: str) -> None:
    """In a forked process: the task, or a new program for it where CUDA does not bear the fork."""
    import torch

    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError):
        os.execv(sys.executable, [sys.executable, __file__, task.name, "--here", "--folder", folder])
    task.work()


def free_gib(device: str) -> float:
    """What is free of the memory of the fullest GPU, asked without touching it; no limit where nobody can say."""
    query = ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, check=True).stdout if device == "cuda" else ""
        return min(int(line) for line in said.split()) / 1024
    except (OSError, ValueError, subprocess.CalledProcessError):
        return float("inf")


def shown(text: str) -> None:
    print(text, flush=True)


def summed_up(outcomes: list[Outcome], seconds: float) -> int:
    """Say how long each took, and which failed."""
    print("\n" + "\n".join(f"{one.seconds:4.0f} s  {one.name}  {one.result}" for one in outcomes))
    failed = [one.name for one in outcomes if one.result.startswith("FAILED")]
    total = sum(one.seconds for one in outcomes)
    print(f"{len(outcomes)} in {seconds:.0f} s, {total:.0f} s one after the other")
    print("failed:", ", ".join(failed) or "none")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
