"""Work side by side, each piece in a process that is forked from this one: what is imported here costs them nothing.

A piece that fails, dies or hangs is named and ends nobody else. Ctrl-C, or a signal to this process, ends all of them
with everything that they started. This module imports nothing but Python, and this process must never use the GPU: a
process that is forked after that cannot.
"""

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO

ENDING = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Task:
    """One piece of work: ``seconds`` says which to begin with, ``gib`` what it takes of the GPU's memory at most.

    It begins when all tasks in ``after`` went well, and not at all when one of them did not.
    """

    name: str
    work: Callable[[], object]
    seconds: float = 1.0
    gib: float = 0.0
    after: tuple[str, ...] = ()


@dataclass
class Outcome:
    """What became of a task: "ok", or what went wrong."""

    name: str
    result: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.name}: {self.result} in {self.seconds:.0f} s"


@dataclass
class Running:
    """A process, where its output goes, and since when."""

    task: Task
    process: int
    output: IO[bytes]
    errors: IO[bytes]
    start: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def said(self, result: str) -> str:
        """What it wrote; what it wrote as errors, warnings among them, only where it did not go well."""
        said = ""
        for one in (self.output, self.errors):
            with one:
                one.seek(0)
                said += one.read().decode(errors="replace") if one is self.output or result != "ok" else ""
        return said

    def end(self) -> None:
        """Kill it with all that it started, whether it still runs or not."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, signal.SIGKILL)


def run_all(
    tasks: Sequence[Task],
    *,
    jobs: int,
    limit: float,
    gib: float = float("inf"),
    show: Callable[[str], object] = print,
) -> list[Outcome]:
    """Run every task, ``jobs`` of them at a time, the longest first; what each said comes in one piece as it ends.

    Args:
        tasks: in any order.
        jobs: as many as there are cores.
        limit: seconds after which a task is killed, and has failed.
        gib: what there is of the GPU's memory. A task that needs more is skipped, one that needs what others have
            waits for them.
        show: takes what a task said.

    Returns:
        The outcomes in the order of the tasks.
    """
    waiting = sorted(tasks, key=lambda task: -task.seconds)
    running: list[Running] = []
    found: dict[str, Outcome] = {}

    def settle(outcome: Outcome, said: str = "") -> None:
        found[outcome.name] = outcome
        show(f"{said}{outcome}")

    with everything_ends(running, show):
        while waiting or running:
            for one in list(running):
                result = result_of(one, limit)
                if result:
                    running.remove(one)
                    one.end()
                    settle(Outcome(one.task.name, result, one.seconds), one.said(result))
            for task in list(waiting):
                room = gib - sum(one.task.gib for one in running)
                verdict = begins(task, found, gib)
                if verdict == "begins" and (len(running) >= jobs or task.gib > room):
                    continue
                if verdict == "waits":
                    continue
                waiting.remove(task)
                if verdict == "begins":
                    with no_signal():  # one between the fork and the list would leave a process to itself
                        running.append(start(task))
                else:
                    settle(Outcome(task.name, verdict))
            time.sleep(0.02)
    return [found[task.name] for task in tasks]


def begins(task: Task, found: dict[str, Outcome], gib: float) -> str:
    """Whether a task "begins", "waits" for others, or what stands against it."""
    bad = [name for name in task.after if name in found and found[name].result != "ok"]
    if bad:
        return f"FAILED: it follows {', '.join(bad)}"
    if not all(name in found for name in task.after):
        return "waits"
    if task.gib > gib:
        return f"skipped: it takes up to {task.gib:g} GiB, and {gib:.0f} GiB of the GPU's memory are free"
    return "begins"


def start(task: Task) -> Running:
    """Fork; the new process leads a group, so that it can be ended with compilers and workers of its own."""
    output, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the task runs
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return Running(task, process, output, errors)
    code = 1
    try:
        os.setsid()
        os.dup2(output.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        for one in ENDING:
            signal.signal(one, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        task.work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else bool(error.code)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)  # none of what the parent would do at its end
    raise AssertionError("unreachable")


def result_of(one: Running, limit: float) -> str:
    """Empty while it runs."""
    process, status = os.waitpid(one.process, os.WNOHANG)
    if process:
        code = os.waitstatus_to_exitcode(status)
        return "ok" if code == 0 else f"FAILED (exit code {code})" if code > 0 else f"FAILED (signal {-code})"
    if one.seconds <= limit:
        return ""
    one.end()
    os.waitpid(one.process, 0)
    return "FAILED: killed at the limit"


@contextmanager
def no_signal() -> Iterator[None]:
    """A signal that comes in between is handled after the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def everything_ends(running: list[Running], show: Callable[[str], object]) -> Iterator[None]:
    """No process is left when the block ends; where a signal ends it, what was being done is said."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in ENDING}
    try:
        yield
    finally:
        for one in running:  # none, where the block ended by itself
            one.end()
            show(f"{one.said('ended')}{one.task.name}: ended after {one.seconds:.0f} s")
        for one in running:
            with suppress(ChildProcessError):
                os.waitpid(one.process, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
