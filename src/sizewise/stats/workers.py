"""Chunks side by side on the CPU: one thread per core, each at its own pace.

Torch would split every small operation over all cores and wait for the slowest after each. With dozens of operations a
chunk that costs more than it brings, and far more when data loaders keep the cores busy. Here each thread takes whole
chunks, and they meet once, at the end. A chunk's result does not depend on who computes it or when, so neither does
the sum.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

from sizewise.private_apis import can_use_one_core, single_core_threads

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")

_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}  # by number of threads


def _forget_parent() -> None:
    """A fork has none of its parent's threads, and perhaps a lock that one of them held and nobody will open."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def map_chunks(
    work: Callable[[Item, State], Result], items: Sequence[Item], make_state: Callable[[], State]
) -> list[Result]:
    """``[work(item, state) for item in items]``, with one state per thread; the first item's error comes first.

    >>> map_chunks(lambda item, state: item + state, [1, 2, 3], lambda: 10)
    [11, 12, 13]
    """
    threads = min(torch.get_num_threads(), len(items))
    if threads <= 1 or not can_use_one_core():
        state = make_state()
        return [work(item, state) for item in items]
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}
    waiting = iter(enumerate(items))  # next() on it is atomic: each item goes to one thread

    def take_items() -> None:
        state = make_state()
        with torch.no_grad():  # threads start with gradients on
            for index, item in waiting:
                if errors:
                    return
                try:
                    results[index] = work(item, state)
                except BaseException as error:
                    errors[index] = error
                    return

    pool = _pool(torch.get_num_threads())
    running: list[Future[None]] = []
    try:
        for _ in range(threads):
            running.append(pool.submit(take_items))
    except RuntimeError:  # no thread can be started: those that are there share the work, or this one does it all
        if not running:
            take_items()
    for one in running:
        one.result()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(items))]


def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads in which torch's own operations run on one core each."""
    with _lock:
        if threads not in _pools:
            _pools[threads] = single_core_threads(threads)
        return _pools[threads]
