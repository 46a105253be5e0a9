"""How far something has come, for anything that takes more than a moment: a bar, or a line now and then in a pipe."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

from sizewise.wording import clock

Item = TypeVar("Item")
NO_BARS = "SIZEWISE_NO_BARS"  # in the environment, so that processes started meanwhile know it too
LINE_SECONDS = 20.0  # between two lines in a pipe or a log file


def track(items: Iterable[Item], *, what: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items with a bar on stderr when that is a terminal, else with a line now and then; one process speaks.

    >>> list(track([1, 2], what="cases"))
    [1, 2]
    """
    if NO_BARS in os.environ or not is_first_process():
        yield from items
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import track as rich_track

        yield from rich_track(items, description=what, total=total, console=Console(stderr=True), transient=True)
    else:
        total = len(items) if total is None and isinstance(items, Sized) else total
        yield from with_lines(items, what=what, total=total)


def is_first_process() -> bool:
    """Whether this is the one of several processes that speaks, by the rank that whoever started them gave it."""
    rank = os.environ.get("RANK", os.environ.get("LOCAL_RANK", ""))
    return not rank.isdecimal() or int(rank) == 0  # other programs have words of that name too


def with_lines(
    items: Iterable[Item], *, what: str, total: int | None, timer: Callable[[], float] = time.monotonic
) -> Iterator[Item]:
    """Yield the items; every 20 seconds a line says how many are done, and how long the rest takes at that pace."""
    started = told = timer()
    for done, item in enumerate(items):  # the item that comes now is not done
        now = timer()
        if now - told >= LINE_SECONDS:
            told = now
            of = "" if total is None else f" of {total}"
            left = f", {clock((now - started) / done * (total - done))} left" if total and done else ""
            print(f"{what}: {done}{of}{left}", file=sys.stderr, flush=True)
        yield item


def print_at_once(line: str) -> None:
    """Print a line so that it is seen now, in a pipe too, and in one piece whatever other threads print."""
    print(f"{line}\n", end="", flush=True)


@contextlib.contextmanager
def no_bars() -> Iterator[None]:
    """Without bars: somebody else draws on the terminal, and two who move its cursor make a mess."""
    before = os.environ.get(NO_BARS)
    os.environ[NO_BARS] = "1"
    try:
        yield
    finally:
        os.environ.pop(NO_BARS, None) if before is None else os.environ.update({NO_BARS: before})
