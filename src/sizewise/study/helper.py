"""A helper: another process of this machine that carries out runs of the study which nobody else is working on.

It belongs to its parent: Ctrl-C reaches only the parent, which ends it, and it ends by itself when the parent is gone.
"""

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from sizewise.train.config import Runtime

CROWDED = 3  # exit code: a run did not fit beside the others, and the parent repeats it alone
PATIENCE_SECONDS = 10.0  # for a helper that was told to end


def start_helper(folder: Path, runtime: Runtime, *, threads: int, gpu: int | None = None) -> subprocess.Popen[bytes]:
    """Start one with so many threads, on one of the GPUs that this process sees."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    if gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible_gpu(os.environ.get("CUDA_VISIBLE_DEVICES"), gpu)
    command = [sys.executable, "-m", "sizewise.study.helper", str(folder), json.dumps(asdict(runtime))]
    # a session of its own: a terminal's Ctrl-C goes to the parent alone; stdin is how it learns that the parent is gone
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    )


def visible_gpu(visible: str | None, gpu: int) -> str:
    """CUDA's name for the ``gpu``-th of the devices that this process sees.

    >>> visible_gpu(None, 1), visible_gpu("4,6", 1)
    ('1', '6')
    """
    return visible.split(",")[gpu].strip() if visible else str(gpu)


def end_helpers(helpers: list[subprocess.Popen[bytes]]) -> None:
    """End those that still run, and wait: their runs are unlocked and their memory is free when this returns."""
    for helper in helpers:
        helper.terminate()
    for helper in helpers:
        try:
            helper.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            helper.kill()
            helper.wait()
        if helper.stdin is not None:
            helper.stdin.close()


def main() -> None:
    """The helper itself. It takes the runs in the study's order, as its parent does."""
    threading.Thread(target=_exit_after_parent, daemon=True).start()
    from sizewise.study.folder import read_study
    from sizewise.study.grid import plan_runs
    from sizewise.study.worker import work

    folder, runtime = Path(sys.argv[1]), Runtime(**json.loads(sys.argv[2]))
    if not work(folder, plan_runs(read_study(folder)), runtime=runtime, helps=True):
        sys.exit(CROWDED)


def _exit_after_parent() -> None:
    os.read(0, 1)  # nothing is ever written: it returns when the other end of stdin is closed
    os._exit(1)


if __name__ == "__main__":
    main()
