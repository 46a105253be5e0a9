"""A Ctrl-C that meets a destructor or a callback, where Python drops exceptions, comes again."""

import _thread
import signal
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
        again = threading.Timer(AGAIN_AFTER, _press)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _press() -> None:
    """As the key does: a signal to the main thread, which also wakes it where it sleeps or waits."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:  # Windows
        _thread.interrupt_main()
