"""Who has which run of a study on this machine, and how fast they go."""

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from sizewise.study.grid import PlannedRun

LONG_EPOCH_SECONDS = 60.0  # the first one tells the pace then: what came before its first step is a small part


class Taken(NamedTuple):
    """A run that somebody works on, and the seconds of its epochs so far."""

    run: PlannedRun
    seconds: list[float]


@dataclass
class Ledger:
    """Who has which run, and what is known of it; every change holds the lock, as helpers are heard in threads.

    Attributes:
        waiting: runs that nobody has taken, in the study's order.
        taken: runs that somebody works on.
        alone: runs that failed beside others, or were left behind: they are repeated alone at the end.
        ended: how many were carried out here.
    """

    waiting: deque[PlannedRun]
    taken: dict[str, Taken] = field(default_factory=dict)
    alone: list[PlannedRun] = field(default_factory=list)
    ended: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> PlannedRun | None:
        """The next run, for whoever asks."""
        with self.lock:
            if not self.waiting:
                return None
            run = self.waiting.popleft()
            self.taken[run.name] = Taken(run, [])
            return run

    def note_epoch(self, name: str, seconds: float) -> None:
        """An epoch of a run has ended."""
        with self.lock:
            self.taken[name].seconds.append(seconds)

    def note_end(self, run: PlannedRun, *, again: bool, worked: bool) -> None:
        """A run has ended; ``again``: it is to be repeated alone; ``worked``: it was carried out, not passed over."""
        with self.lock:
            del self.taken[run.name]
            self.ended += worked and not again
            if again:
                self.alone.append(run)

    def unfinished(self) -> int:
        """Runs that wait or are worked on."""
        with self.lock:
            return len(self.waiting) + len(self.taken)

    def seconds_left(self, *, elapsed: float, workers: int) -> float | None:
        """From the pace of the epochs, or of the runs that ended, whichever is more; None while neither is known."""
        with self.lock:
            epochs = sum(run.config.epochs for run in self.waiting)
            paces = []
            for run, seconds in self.taken.values():
                epochs += max(0, run.config.epochs - len(seconds))
                if len(seconds) > 1 or (seconds and seconds[0] > LONG_EPOCH_SECONDS):
                    later = seconds[1:] or seconds  # the first has the warm-up
                    paces.append(sum(later) / len(later))
            left = len(self.waiting) + len(self.taken)
            by_runs = elapsed / self.ended * left if self.ended else None
            by_epochs = max(paces) * epochs / workers if paces else None
            return max((one for one in (by_runs, by_epochs) if one is not None), default=None)
