"""A study's progress on the screen: read from the run folders, so it is the same for every engine."""

import contextlib
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from sizewise.progress import no_bars, print_at_once
from sizewise.study.grid import PlannedRun
from sizewise.study.study_folder import RunStatus, run_status
from sizewise.train.run_folder import is_finished
from sizewise.wording import clock, counted

if TYPE_CHECKING:
    from rich.table import Table

EVERY_SECONDS = 1.0
MOST_ROWS = 12


class Screen:
    """A live table on a terminal; else a line whenever a run ends."""

    def __init__(self, folder: Path, runs: list[PlannedRun]) -> None:
        self.folder, self.runs = folder, runs
        self.started = time.monotonic()
        states = self.states()
        self.before = sum(state.word == "finished" for state in states)
        self.epochs_before = sum(state.epoch for state in states)
        pairs = zip(runs, states, strict=True)
        self.trained = {run.name for run, state in pairs if state.word != "finished" and is_finished(self.place(run))}
        self.stop = threading.Event()
        self.thread: threading.Thread | None = None
        self.alone = contextlib.ExitStack()

    def place(self, run: PlannedRun) -> Path:
        """The run's folder."""
        return self.folder / "runs" / run.name

    def states(self) -> list[RunStatus]:
        """Of every run, in their order."""
        return [run_status(self.place(run), run.decisions) for run in self.runs]

    def __enter__(self) -> "Screen":
        rest = f", {len(self.trained)} to be decided without training" if self.trained else ""
        runs = counted(len(self.runs), "run")
        print_at_once(f"{runs}, {self.before} of them finished before{rest} → {self.folder}")
        if sys.stderr.isatty():
            self.alone.enter_context(no_bars())
            self.thread = threading.Thread(target=self._live, daemon=True)
            self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop.set()
        if self.thread is not None:
            self.thread.join()
        self.alone.close()

    def after_run(self, run: PlannedRun) -> None:
        """Say how a run ended, and how long the rest may take. Threads call it, one for each helper."""
        states = self.states()
        state = states[[one.name for one in self.runs].index(run.name)]
        done = sum(one.word in ("finished", "failed") for one in states)
        text = "decided" if run.name in self.trained else f"finished in {state.seconds:.0f} s"
        text = f"failed: {state.error}" if state.word == "failed" else text
        print_at_once(f"[{done}/{len(self.runs)}] {run.name} {text}; {self.time_left(states)} left")

    def time_left(self, states: list[RunStatus]) -> str:
        """From the pace of the epochs since the start; what is scored and prepared in between counts with them."""
        new = sum(state.epoch for state in states) - self.epochs_before
        left = sum(
            max(0, run.config.epochs - state.epoch)
            for run, state in zip(self.runs, states, strict=True)
            if state.word in ("waiting", "begun")
        )
        ended = sum(state.word in ("finished", "failed") for state in states) - self.before
        if not left and ended:  # runs that lack only decisions have no epochs to go by
            return clock((time.monotonic() - self.started) / ended * (len(states) - self.before - ended))
        if new <= 0 and left:
            return "unknown time"
        return clock((time.monotonic() - self.started) / max(new, 1) * left)

    def _live(self) -> None:
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
            while not self.stop.wait(EVERY_SECONDS):
                live.update(self._table(self.states()), refresh=True)

    def _table(self, states: list[RunStatus]) -> "Table":
        """What is at work now first, then what failed, what ended last, and what comes next, as far as they fit."""
        from rich.markup import escape
        from rich.table import Table

        counts = Counter(state.word for state in states)
        failed = f", {counts['failed']} failed" if counts["failed"] else ""
        title = f"{counts['finished']}/{len(self.runs)} finished{failed}, {self.time_left(states)} left"
        table = Table(title=title)
        for column in ("run", "state", "epoch", "seconds"):
            table.add_column(column)
        pairs = list(zip(self.runs, states, strict=True))
        by_word = {word: [pair for pair in pairs if pair[1].word == word] for word in ("begun", "failed", "finished")}
        waiting = [pair for pair in pairs if pair[1].word == "waiting"]
        order = [*by_word["begun"], *by_word["failed"], *reversed(by_word["finished"]), *waiting]
        for run, state in order[:MOST_ROWS]:
            said = f"failed: {state.error[:60]}" if state.word == "failed" else state.word
            table.add_row(run.name, escape(said), f"{state.epoch}/{run.config.epochs}", f"{state.seconds:.0f}")
        return table
