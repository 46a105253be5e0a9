"""Run a function on many files at once; decoding lets go of the interpreter, so threads use all cores."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from sizewise.progress import track

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_threads(function: Callable[[Item], Result], items: Sequence[Item], *, what: str) -> list[Result]:
    """The results in the order of the items, with a progress bar called ``what``.

    >>> map_threads(abs, [-1, 2], what="numbers")
    [1, 2]
    """
    pool = ThreadPoolExecutor(max_workers=os.cpu_count())
    try:
        return list(track(pool.map(function, items), what=what, total=len(items)))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C must not wait for files that have not begun


def map_ahead(function: Callable[[Item], Result], items: Iterable[Item], *, threads: int) -> Iterator[Result]:
    """Results in the order of the items, worked out by threads a few items ahead of whoever takes them.

    The items are taken in the caller's thread. With one thread there is none: each result is worked out when asked for.

    >>> list(map_ahead(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    if threads <= 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def single_core_threads(threads: int) -> ThreadPoolExecutor:
    """Threads in which torch's operations run on one core each: else each would start a team as large as the machine.

    >>> import torch
    >>> with single_core_threads(2) as pool:
    ...     list(pool.map(lambda _: torch.get_num_threads(), range(2)))
    [1, 1]
    """
    import torch  # here: scoring files needs none

    pool = ThreadPoolExecutor(threads)
    before = torch.get_num_threads()
    together = threading.Barrier(threads + 1)
    torch.set_num_threads(1)
    try:  # a thread takes over torch's number of threads when it first asks for it, and keeps it
        for _ in range(threads):
            pool.submit(lambda: (torch.get_num_threads(), together.wait()))
        together.wait()
    finally:
        torch.set_num_threads(before)
    return pool
