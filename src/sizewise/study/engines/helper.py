"""A helper: another process of this machine that carries out the runs which its parent hands to it.

The two talk in lines. The parent writes the name of a run; the helper answers ``epoch NAME SECONDS`` after each epoch
and ``ended NAME OUTCOME``, and before its first run ``ready``. An empty line means that there is nothing more. When the
pipe closes the parent is gone, and the helper ends at once, whatever it is doing.
A terminal's Ctrl-C reaches only the parent, which ends it.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import IO

from sizewise.errors import BadInput
from sizewise.train.config import Runtime

PATIENCE_SECONDS = 10.0  # for a helper that was told to end


def start_helper(folder: Path, runtime: Runtime, *, threads: int, gpu: int | None = None) -> subprocess.Popen[str]:
    """Start one with so many threads, on one of the GPUs that this process sees."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    if gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible_gpu(os.environ.get("CUDA_VISIBLE_DEVICES"), gpu)
    command = [sys.executable, "-m", __name__, str(folder), json.dumps(asdict(runtime))]
    pipe = subprocess.PIPE  # a session of its own keeps a terminal's Ctrl-C away
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True, start_new_session=True)


def visible_gpu(visible: str | None, gpu: int) -> str:
    """CUDA's name for the ``gpu``-th of the devices that this process sees.

    >>> visible_gpu(None, 1), visible_gpu("4,6", 1)
    ('1', '6')
    """
    return visible.split(",")[gpu].strip() if visible else str(gpu)


def end_helpers(helpers: list[subprocess.Popen[str]]) -> None:
    """End those that still run, and wait: their runs are unlocked and their memory is free when this returns."""
    for helper in helpers:
        helper.terminate()
    for helper in helpers:
        try:
            helper.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            helper.kill()
            helper.wait()


def main() -> None:
    """The helper itself."""
    answers = _own_stdout()
    names: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(names,), daemon=True).start()
    from sizewise.data.file_names import ignore_pillow_warnings
    from sizewise.study.grid import plan_runs
    from sizewise.study.study_folder import read_study
    from sizewise.study.worker import Worker

    def say(*words: object) -> None:
        print(*words, file=answers, flush=True)

    ignore_pillow_warnings()
    folder, runtime = Path(sys.argv[1]), Runtime(**json.loads(sys.argv[2]))
    try:
        worker, runs = Worker(folder), {run.name: run for run in plan_runs(read_study(folder))}
        say("ready")
        while name := names.get():
            outcome = worker.carry_out(
                runs[name],
                runtime,
                on_epoch=lambda row, name=name: say("epoch", name, row["seconds"]),  # type: ignore[misc]
            )
            say("ended", name, outcome)
    except (BadInput, OSError, MemoryError):  # a full disk, say: the parent repeats the run, and says it in a sentence
        sys.exit(1)


def _own_stdout() -> IO[str]:
    """The pipe to the parent; whatever else this process prints goes nowhere."""
    own = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return own


def _listen(names: "queue.SimpleQueue[str]") -> None:
    for line in sys.stdin:
        names.put(line.strip())
    os._exit(1)  # the parent is gone


if __name__ == "__main__":
    main()
