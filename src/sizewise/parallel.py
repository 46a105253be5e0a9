"""Work on many files at once: threads where the work lets go of the interpreter, a process per core where not."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from sizewise.errors import BadInput
from sizewise.progress import track

Item = TypeVar("Item")
Result = TypeVar("Result")
LARGEST_JOBS = 512  # processes at once: more cores than that are several machines


def available_cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_threads(function: Callable[[Item], Result], items: Sequence[Item], *, what: str) -> list[Result]:
    """The results in the order of the items, with a progress bar called ``what``.

    >>> map_threads(abs, [-1, 2], what="numbers")
    [1, 2]
    """
    results = map_ahead(function, items, threads=available_cores(), ahead=len(items))
    return list(track(results, what=what, total=len(items)))


def map_ahead(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    threads: int,
    ahead: int | None = None,
    make_pool: Callable[[int], ThreadPoolExecutor] = ThreadPoolExecutor,
) -> Iterator[Result]:
    """Results in the order of the items, worked out by threads a few items ahead of whoever takes them.

    The items are taken in the caller's thread. With one thread there is none: each result is worked out when asked for.

    Args:
        function: of one item.
        items: as many as there are.
        threads: how many.
        ahead: results that may wait; None: one more than threads.
        make_pool: takes the number of threads.

    >>> list(map_ahead(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    if threads <= 1 and make_pool is ThreadPoolExecutor:
        yield from map(function, items)
        return
    most = threads + 1 if ahead is None else ahead
    waiting: deque[Future[Result]] = deque()
    pool = make_pool(threads)
    try:
        for item in items:
            waiting.append(_submitted(pool, function, item))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # Ctrl-C, or a bad file, does not wait for what has not begun
        pool.shutdown(wait=False, cancel_futures=True)


def _submitted(pool: ThreadPoolExecutor, function: Callable[[Item], Result], item: Item) -> Future[Result]:
    """The work in a thread, or done at once where no thread can be started: a machine may allow no more of them."""
    try:
        return pool.submit(function, item)
    except RuntimeError:
        done: Future[Result] = Future()
        done.set_result(function(item))
        return done


def map_in_processes(work: Callable[[Item], Result], items: Sequence[Item], *, jobs: int) -> Iterator[Result]:
    """Results in the order of the items, as they come. The first error ends the work, and so does leaving the loop.

    Args:
        work: a function that can be pickled.
        items: its inputs.
        jobs: processes; with one, the work is done here.

    >>> list(map_in_processes(abs, [-1, -2], jobs=1))
    [1, 2]
    """
    jobs = min(jobs, len(items))
    if jobs <= 1:
        return map(work, items)
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(worker_pool(jobs, _start_method()))
        # Submitted here, not in the generator: a progress bar starts a thread, after which forking is no longer safe.
        # Small chunks keep the cores busy to the end; chunks of one would spend time on messages.
        size = max(1, min(8, len(items) // (8 * jobs)))
        # Not pool.map, which cancels what waits when it is left: before Python 3.13 the thread of a pool whose workers
        # have ended meanwhile stumbles over that, and prints a traceback.
        with ctrl_c_waits():
            chunks = deque(
                pool.submit(_work_on, work, items[start : start + size]) for start in range(0, len(items), size)
            )
        return _drain(chunks, jobs, stack.pop_all())
    raise AssertionError("unreachable")


def _work_on(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    return [work(item) for item in items]


def _drain(chunks: deque[Future[list[Result]]], jobs: int, pool: contextlib.ExitStack) -> Iterator[Result]:
    try:
        with pool:
            while chunks:
                yield from chunks.popleft().result()
    except BrokenProcessPool as error:
        raise BadInput(
            f"a worker process was killed, most likely for lack of memory. Use fewer than {jobs} processes: `jobs`."
        ) from error


@contextlib.contextmanager
def worker_pool(jobs: int, method: str) -> Iterator[ProcessPoolExecutor]:
    """Processes that are gone when the block ends, however it ends.

    After Ctrl-C or an error nobody wants what is still being worked on: the workers are ended first, and then waited
    for. An interpreter that leaves beside a pool that is still closing prints that pool's errors, and one whose
    thread could not be started would wait for its workers for ever.
    """
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context(method), initializer=live_and_die_with_parent)
    try:
        yield pool
    except BaseException:
        for worker in set(multiprocessing.active_children()) - before:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """While workers are started: Ctrl-C reaches them too, and before they can ignore it they would print a traceback.

    They inherit that it waits, and then ignore it; this process gets it when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
