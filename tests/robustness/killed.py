"""A program that kills a run, or a study, again and again, until it has been killed often enough, and prints how often.

Everything is imported once; each try is a fork that goes on where the last one was killed. It dies by a timer of its
own processor time, which has no handler, at whatever instruction it is; or inside a save: before a file is on disk,
before it gets its name, or right after. No clock of the wall is asked, so a busy machine changes nothing.
"""

import contextlib
import os
import random
import resource
import shutil
import signal
import sys
from importlib import import_module
from pathlib import Path

import torch

torch.set_num_threads(1)

from study.tiny_study import tiny_study  # noqa: E402
from train.tiny_runs import train_tiny  # noqa: E402

from sizewise import files  # noqa: E402

SETTINGS = {"epochs": 3, "ramp": "0.2:0.7", "augment": "picture", "schedule": "plateau", "patience": 0, "batch_size": 2}


def carry_out(what: str, data: str, folder: Path) -> None:
    if what == "train":
        train_tiny(data, folder / "run", resume=True, **SETTINGS)
    else:
        tiny_study(folder / "study", seeds="1")


def in_a_fork(what: str, data: str, folder: Path, die) -> tuple[bool, float]:
    """Whether it came to its end, and the seconds of processor time that it took."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        die()
        carry_out(what, data, folder)
        (folder / "modules").write_text("\n".join(sys.modules))
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        sys.exit(f"it failed, after {folder}")
    return os.WIFEXITED(status), used.ru_utime + used.ru_stime


def by_timer(seconds: float):
    return lambda: signal.setitimer(
        signal.ITIMER_PROF, max(seconds, 1e-3)
    )  # without a handler its signal ends the process


def inside_a_save(number: int, where: str):
    """At the ``number``-th file that is written."""
    left = [number]

    def count():
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def die():
        fsync, replace = os.fsync, os.replace

        class Killing:
            def __getattr__(self, name):
                return getattr(os, name)

            def fsync(self, file):
                if where == "before":
                    count()
                fsync(file)

            def replace(self, old, new):
                if where == "between":
                    count()
                replace(old, new)
                if where == "after":
                    count()

        files.os = Killing()

    return die


def written(place: Path) -> dict[str, bytes]:
    """The tables and model cards, each by where it is."""
    files = [path for path in place.rglob("*") if path.name in ("cases.csv", "results.csv", "README.md")]
    return {str(path.relative_to(place)): path.read_bytes() for path in files}


def main() -> None:
    what, data, kills, seed, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], Path(sys.argv[5])
    draw = random.Random(seed)
    import sizewise.train.loop as loop

    loop.draw_curves = lambda *given, **named: None
    done, used = in_a_fork(what, data, folder / "whole", lambda: None)
    assert done, "the whole one was not finished"
    whole = written(folder / "whole")
    for module in (folder / "whole" / "modules").read_text().split():  # so that no fork imports them again
        with contextlib.suppress(Exception):
            import_module(module)
    _, used = in_a_fork(what, data, folder / "again", lambda: None)
    killed = rounds = 0
    while killed < kills:
        place = folder / f"killed-{rounds}"
        while True:
            timed = by_timer(draw.uniform(0, used)) if draw.random() < 0.5 else None
            saved = inside_a_save(draw.randrange(1, 16), draw.choice(("before", "between", "after")))
            done, _ = in_a_fork(what, data, place, (timed or saved) if killed < kills else (lambda: None))
            if done:
                break
            killed += 1
        found = written(place)
        if different := sorted(name for name in {*whole, *found} if whole.get(name) != found.get(name)):
            sys.exit(f"other bytes after {killed} kills: {different} of {place}")
        if left := list(place.rglob(".partial-*")):
            sys.exit(f"half a file is left: {left}")
        shutil.rmtree(place)
        rounds += 1
    print(f"{killed} kills of {what}, {rounds} times to the end", resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)


if __name__ == "__main__":
    main()
