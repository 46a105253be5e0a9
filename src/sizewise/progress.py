"""A progress bar with the time left, for anything that takes more than a moment."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
NO_BARS = "SIZEWISE_NO_BARS"  # in the environment, so that processes started meanwhile know it too


def track(items: Iterable[Item], *, what: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items with a bar on stderr when that is a terminal, else silently; of several processes one draws.

    >>> list(track([1, 2], what="cases"))
    [1, 2]
    """
    if (
        not sys.stderr.isatty()
        or NO_BARS in os.environ
        or int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0")))
    ):
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, description=what, total=total, console=Console(stderr=True), transient=True)


@contextlib.contextmanager
def no_bars() -> Iterator[None]:
    """Without bars: somebody else draws on the terminal, and two who move its cursor make a mess."""
    before = os.environ.get(NO_BARS)
    os.environ[NO_BARS] = "1"
    try:
        yield
    finally:
        os.environ.pop(NO_BARS, None) if before is None else os.environ.update({NO_BARS: before})
