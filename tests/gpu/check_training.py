"""Training: same bits with --deterministic, also after a kill; a captured step equals an eager one.

Every run is a process with a compiler's cache of its own.
"""

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import torch
from gpu.processes import Task
from torch._inductor import config as inductor

from sizewise.train import loop, setup
from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.config import Runtime
from sizewise.train.history import read_history
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training

sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "evidence"))  # where size_terms lies
COMMON = {"data": "synthetic", "loss": "RCE", "epochs": 2, "steps_per_epoch": 4}
CASES = {
    "compiled": {"compile": "on", "ema": 0.9},
    "2D": {},
    "3D": {"data": "synthetic-3d"},
    "average": {"ema": 0.9},
    "scaled": {"precision": "float16", "clip_norm": 1.0},
    "accumulated": {"accumulate": 2, "steps_per_epoch": 5},
    "learning": {"loss": "size_terms:dual"},  # a term that writes into its buffer in the captured step
    "hearing": {"loss": "size_terms:rising_temperature"},  # and one whose buffer is set before each
    "deep": {"deep_supervision": True, "model": "monai-dynunet"},
    "small": {"model": "fpn-resnet18", "encoder_weights": "none", "size": (64, 64), "ema": 0.9},
    "together": {"ema": 0.9, "precision": "float16", "accumulate": 3, "optimizer": "sgd"},
}
EAGER_ANYWAY = ("scaled", "accumulated", "together")
EAGER_OF = {"compiled": "average"}  # the same settings but for the compiler, which no eager run has
COMPILERS = 4  # others need the cores too
SECONDS = ("seconds", "train_seconds")
# Of the longest run, on a machine with an H200: what takes longest begins first.
SECONDS_THERE = {"compiled": 43, "3D": 22, "2D": 18, "small": 18, "deep": 11}


class Killed(Exception):
    """As if by a signal."""


def killed_after(epoch: int):
    """The run ends when it has saved the state of an epoch."""
    keep = loop.Record.keep

    def killing(self, state, *, last):
        keep(self, state, last=last)
        if state.progress.epoch == epoch:
            raise Killed

    return mock.patch.object(loop.Record, "keep", killing)


def leaves_upsampling_to_loss(asked: bool):
    """Whether the loss reads the head's small logits, whatever is faster."""
    return mock.patch.object(setup, "is_faster_in_loss", return_value=asked)


def train(case: str, kind: str, folder: Path, accelerator: str) -> None:
    """One run: whole, resumed after a kill, or eager, uncompiled and with full-size logits."""
    with leaves_upsampling_to_loss(case == "small" and kind != "eager"):
        carry_out(case, kind, folder, accelerator)


def carry_out(case: str, kind: str, folder: Path, accelerator: str) -> None:
    """The run itself."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}-cache"
    settings = dict(COMMON | CASES[case])
    compiled = settings.pop("compile", "off")
    inductor.compile_threads = COMPILERS
    eager = {"graphs": "off", "compile": "off"} if kind == "eager" else {"compile": compiled}
    beside = {"workers": 2, "sharing": os.cpu_count() or 1}  # many at once: none starts processes of its own
    runtime = Runtime(accelerator=accelerator, save_seconds=0, deterministic=True, **eager, **beside)
    run = resolve(settings)
    given = {"folder": folder, "runtime": runtime, "resume": True, "log": lambda line: print(line, file=sys.stderr)}
    if kind == "resumed":
        try:
            with killed_after(1):
                run_training(run, **given)
        except Killed:
            pass
    decided = case in ("2D", "3D") and kind != "eager"  # whose scores nobody compares
    run_training(run, decisions=("argmax", "dice", "size") if decided else ("argmax",), **given)
    saved = load_checkpoint(folder / "last.pt")
    assert saved["compiled"] == (compiled == "on" and kind != "eager"), "whether it is compiled"
    assert saved["upsample"] == ("linear-corners" if case == "small" and kind != "eager" else None), "who upsamples"


def rows_of(folder: Path) -> list[dict]:
    """The history without its clocks."""
    return [{name: v for name, v in row.items() if name not in SECONDS} for row in read_history(folder / "history.csv")]


def same(one: Path, other: Path) -> bool:
    """Bit for bit: history, scores, best and last weights."""
    if rows_of(one) != rows_of(other) or (one / "cases.csv").read_text() != (other / "cases.csv").read_text():
        return False
    for name in ("best.pt", "last.pt"):
        files = [load_checkpoint(folder / name) for folder in (one, other)]
        for part in ("model", "terms"):
            mine, theirs = (content.get(part, {}) for content in files)
            if mine.keys() != theirs.keys() or not all(torch.equal(mine[key], theirs[key]) for key in mine):
                return False
    return True


def compare(case: str, root: Path) -> None:
    """Raise what is wrong with the runs of a case."""
    folders = {kind: root / f"{case}-{kind}" for kind in ("whole", "resumed")}
    folders["eager"] = root / f"{EAGER_OF.get(case, case)}-eager"
    failed = [] if same(folders["whole"], folders["resumed"]) else [f"{case}: a whole and a resumed run differ"]
    if case not in EAGER_ANYWAY:
        for ours, theirs in zip(rows_of(folders["whole"]), rows_of(folders["eager"]), strict=True):
            if abs(ours["train_loss"] - theirs["train_loss"]) > 0.02 * abs(theirs["train_loss"]):
                failed.append(f"{case}: epoch {ours['epoch']:g} differs from the eager one: {ours} {theirs}")
    assert not failed, "; ".join(failed)


def training_tasks(root: Path, accelerator: str) -> Iterator[Task]:
    """The runs of every case, and then their comparison."""
    for case in CASES:
        wanted = [(case, "resumed"), (case, "whole")]
        if case not in EAGER_ANYWAY:
            wanted.append((EAGER_OF.get(case, case), "eager"))
        for name, kind in wanted:
            if name == case:
                work = partial(train, case, kind, root / f"{case}-{kind}", accelerator)
                yield Task(f"training/{case}/{kind}", work, SECONDS_THERE.get(case, 8), gib=3)
        runs = tuple(f"training/{name}/{kind}" for name, kind in wanted)
        yield Task(f"training/{case}/same", partial(compare, case, root), 1, after=runs)
