"""Training on this machine's GPU: same bits with --deterministic, a captured step equals an eager one, resume goes on.

    PYTHONPATH=src python tests/train/gpu_training_check.py

A program rather than a test: `make test` has no GPU. Prints what failed, and ends with 1 then.
"""

import sys
import tempfile
from pathlib import Path

import torch

from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.config import Runtime
from sizewise.train.history import read_history
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training

VARIANTS = (
    {"ema": 0.9},
    {"precision": "float16", "clip_norm": 1.0},
    {"accumulate": 2, "steps_per_epoch": 5},
    {"deep_supervision": True, "model": "monai-dynunet"},
    {"ema": 0.9, "precision": "float16", "accumulate": 3, "optimizer": "sgd"},
)
SECONDS = ("seconds", "train_seconds")


def train(folder: Path, data: str, **options) -> tuple[list[dict], dict, str]:
    """History without its clocks, the best weights, and the scores, of three epochs."""
    settings = options.pop("settings", {})
    runtime = Runtime(accelerator=options.pop("accelerator", "cuda"), save_seconds=0, **options)
    run = resolve({"data": data, "loss": "RCE", "epochs": 3, "steps_per_epoch": 4} | settings)
    given = {"resume": True, "decisions": ("argmax", "dice", "size"), "log": lambda line: None}
    run_training(run, folder=folder, runtime=runtime, **given)
    rows = [{name: v for name, v in row.items() if name not in SECONDS} for row in read_history(folder / "history.csv")]
    return rows, load_checkpoint(folder / "best.pt")["model"], (folder / "cases.csv").read_text()


def same_weights(one: dict, other: dict) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(bool(torch.equal(one[name], other[name])) for name in one)


def check(data: str, root: Path, **options) -> list[str]:
    """The names of what failed."""
    failed = []
    first = train(root / "first", data, deterministic=True, **options)
    again = train(root / "again", data, deterministic=True, **options)
    if first[0] != again[0] or not same_weights(first[1], again[1]) or first[2] != again[2]:
        failed.append(f"{data}: two deterministic runs differ")
    (root / "again" / "cases.csv").unlink()  # as if killed before the scores
    if train(root / "again", data, deterministic=True, **options)[2] != first[2]:
        failed.append(f"{data}: scores after --resume differ")
    eager = train(root / "eager", data, deterministic=True, graphs="off", **options)
    for ours, theirs in zip(first[0], eager[0], strict=True):
        if abs(ours["train_loss"] - theirs["train_loss"]) > 0.02 * abs(theirs["train_loss"]):
            failed.append(f"{data}: captured and eager losses differ in epoch {ours['epoch']:g}: {ours} {theirs}")
    return failed


def main() -> None:
    """All data sets; ends with 1 if something failed."""
    accelerator = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    failed = []
    for data in ("synthetic", "synthetic-3d"):
        with tempfile.TemporaryDirectory() as folder:
            failed += check(data, Path(folder), accelerator=accelerator)
    for settings in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            failed += [
                f"{settings}: {one}"
                for one in check("synthetic", Path(folder), accelerator=accelerator, settings=settings)
            ]
    print("failed:", "; ".join(failed) or "none")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
