"""A study's progress on the screen: read from the run folders, so it is the same for every engine."""

import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from sizewise.study.folder import RunState, run_state
from sizewise.study.grid import PlannedRun

if TYPE_CHECKING:
    from rich.table import Table

EVERY_SECONDS = 1.0


class Screen:
    """A live table on a terminal; else a line whenever a run ends."""

    def __init__(self, folder: Path, runs: list[PlannedRun], *, jobs: int) -> None:
        self.folder, self.runs, self.jobs = folder, runs, jobs
        self.started = time.monotonic()
        self.before = sum(self.state(run).word == "finished" for run in runs)
        self.stop = threading.Event()
        self.thread: threading.Thread | None = None

    def state(self, run: PlannedRun) -> RunState:
        """Of one run."""
        return run_state(self.folder / "runs" / run.name)

    def __enter__(self) -> "Screen":
        print(f"{len(self.runs)} runs, {self.before} of them finished before → {self.folder}", flush=True)
        if sys.stderr.isatty():
            self.thread = threading.Thread(target=self._live, daemon=True)
            self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop.set()
        if self.thread is not None:
            self.thread.join()

    def after_run(self, run: PlannedRun) -> None:
        """Say how a run ended, and how long the rest may take."""
        state = self.state(run)
        states = [self.state(one).word for one in self.runs]
        done = states.count("finished") + states.count("failed")
        text = f"failed: {state.error}" if state.word == "failed" else f"finished in {state.seconds:.0f} s"
        print(
            f"[{done}/{len(self.runs)}] {run.name} {text}; {self.time_left(states.count('finished'))} left", flush=True
        )

    def time_left(self, finished: int) -> str:
        """From the pace so far."""
        new = finished - self.before
        if new <= 0:
            return "unknown time"
        pace = (time.monotonic() - self.started) / new
        minutes, seconds = divmod(round(pace * (len(self.runs) - finished)), 60)
        return f"{minutes}:{seconds:02d}"

    def _live(self) -> None:
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
            while not self.stop.wait(EVERY_SECONDS):
                live.update(self._table(), refresh=True)

    def _table(self) -> "Table":
        from rich.table import Table

        states = {run.name: self.state(run) for run in self.runs}
        counts = Counter(state.word for state in states.values())
        table = Table(
            title=f"{counts['finished']}/{len(self.runs)} finished, {self.time_left(counts['finished'])} left"
        )
        for column in ("run", "state", "epoch", "seconds"):
            table.add_column(column)
        shown = [run for run in self.runs if states[run.name].word != "waiting"][-12:]
        for run in shown:
            state = states[run.name]
            table.add_row(run.name, state.word, f"{state.epoch}/{run.config.epochs}", f"{state.seconds:.0f}")
        return table
