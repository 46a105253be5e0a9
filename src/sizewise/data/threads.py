"""Run a function on many files at once; decoding lets go of the interpreter, so threads use all cores."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
