"""A worker process per core, for work on files that needs neither torch nor shared memory."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from typing import TypeVar

from sizewise.errors import BadInput

Task = TypeVar("Task")
Result = TypeVar("Result")


def available_cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_processes(work: Callable[[Task], Result], tasks: Sequence[Task], *, jobs: int) -> Iterator[Result]:
    """Results in the order of the tasks, as they come. The first error ends the work, and so does leaving the loop.

    Args:
        work: a function that can be pickled.
        tasks: its inputs.
        jobs: processes; with one, the work is done here.

    >>> list(map_in_processes(abs, [-1, -2], jobs=1))
    [1, 2]
    """
    jobs = min(jobs, len(tasks))
    if jobs <= 1:
        return map(work, tasks)
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context(_start_method()), initializer=live_and_die_with_parent)
    # Submitted here, not in the generator: a progress bar starts a thread, after which forking is no longer safe.
    # Small chunks keep the cores busy to the end; chunks of one would spend time on messages.
    results = pool.map(work, tasks, chunksize=max(1, min(8, len(tasks) // (8 * jobs))))
    return _drain(results, pool, set(multiprocessing.active_children()) - before)


def _drain(results: Iterator[Result], pool: ProcessPoolExecutor, workers: set[BaseProcess]) -> Iterator[Result]:
    try:
        yield from results
        pool.shutdown()
    except BrokenProcessPool as error:
        raise BadInput(
            "a worker process was killed, most likely for lack of memory. Use fewer than "
            f"{len(workers)} processes: --jobs."
        ) from error
    finally:  # after Ctrl-C or an error nobody wants what is still being worked on
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()


def _start_method() -> str:
    """Forked workers have everything imported at once; that is safe only while the parent runs no other thread."""
    alone = threading.active_count() == 1 and "torch" not in sys.modules
    return "fork" if sys.platform == "linux" and alone else "spawn"


def live_and_die_with_parent() -> None:
    """In a worker: Ctrl-C is the parent's to handle, and a parent that was killed leaves no worker behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_after_parent, daemon=True).start()


def _exit_after_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
