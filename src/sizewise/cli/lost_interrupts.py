"""A Ctrl-C that meets a destructor or a callback, where Python drops exceptions, comes again."""

import _thread
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AGAIN_AFTER = 0.05  # seconds: whatever lost it has returned by then


@contextmanager
def lost_interrupts_come_again() -> Iterator[None]:
    """While it lasts, no Ctrl-C is dropped.

    Every import ends with such a callback, that of its lock. Pressed just then, Ctrl-C would print "Exception ignored",
    and the command would go on.
    """
    before = sys.unraisablehook

    def hook(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        again = threading.Timer(AGAIN_AFTER, _thread.interrupt_main)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
