"""A progress bar with the time left, for anything that takes more than a moment."""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Iterable[Item], *, what: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items with a bar on stderr when that is a terminal, else silently; of several processes one draws.

    >>> list(track([1, 2], what="cases"))
    [1, 2]
    """
    if not sys.stderr.isatty() or int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0"))):
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, description=what, total=total, console=Console(stderr=True), transient=True)
