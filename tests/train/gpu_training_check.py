"""Training on this machine's GPU: same bits with --deterministic, also after a kill; a captured step equals an eager one.

    PYTHONPATH=src python tests/train/gpu_training_check.py [cuda | cpu [CASE]]

A program rather than a test: `make test` has no GPU. Every run is a process with a compiler's cache of its own, all of
them side by side. Prints what failed, and ends with 1 then.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import torch

from sizewise.train import loop
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
    "together": {"ema": 0.9, "precision": "float16", "accumulate": 3, "optimizer": "sgd"},
}
EAGER_ANYWAY = ("scaled", "accumulated", "together")
SECONDS = ("seconds", "train_seconds")


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


def train(case: str, kind: str, folder: Path, accelerator: str) -> None:
    """One run: whole, resumed after a kill, or eager and uncompiled."""
    settings = dict(COMMON | CASES[case])
    compiled = settings.pop("compile", "off")
    eager = {"graphs": "off", "compile": "off"} if kind == "eager" else {"compile": compiled}
    beside = {"workers": 2, "sharing": os.cpu_count() or 1}  # many at once: none starts processes of its own
    runtime = Runtime(accelerator=accelerator, save_seconds=0, deterministic=True, **eager, **beside)
    run = resolve(settings)
    given = {"folder": folder, "runtime": runtime, "resume": True, "log": lambda line: print(line, flush=True)}
    if kind == "resumed":
        try:
            with killed_after(1):
                run_training(run, **given)
        except Killed:
            pass
    run_training(run, decisions=("argmax", "dice", "size") if case in ("2D", "3D") else ("argmax",), **given)
    wanted = compiled == "on" and kind != "eager"
    assert load_checkpoint(folder / "last.pt")["compiled"] == wanted, "whether it is compiled"


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


def compare(case: str, root: Path) -> list[str]:
    """What is wrong with the runs of a case."""
    folders = {kind: root / f"{case}-{kind}" for kind in ("whole", "resumed", "eager")}
    failed = [] if same(folders["whole"], folders["resumed"]) else [f"{case}: a whole and a resumed run differ"]
    if folders["eager"].exists():
        for ours, theirs in zip(rows_of(folders["whole"]), rows_of(folders["eager"]), strict=True):
            if abs(ours["train_loss"] - theirs["train_loss"]) > 0.02 * abs(theirs["train_loss"]):
                failed.append(f"{case}: epoch {ours['epoch']:g} differs from the eager one: {ours} {theirs}")
    return failed


def main() -> int:
    """All cases; ends with 1 if something failed."""
    accelerator = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    if len(sys.argv) == 5:
        train(sys.argv[2], sys.argv[3], Path(sys.argv[4]), accelerator)
        return 0
    cases = sys.argv[2:] or list(CASES)
    jobs = [(case, kind) for kind in ("resumed", "whole") for case in cases]
    jobs += [(case, "eager") for case in cases if case not in EAGER_ANYWAY]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def carry_out(job: tuple[str, str]) -> str:
            started, name = time.perf_counter(), "-".join(job)
            own = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(root / f"cache-{name}"), "OMP_NUM_THREADS": "2"}
            command = [sys.executable, __file__, accelerator, *job, str(root / name)]
            done = subprocess.run(command, capture_output=True, text=True, env=own)
            print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
            notes = [line for line in done.stdout.splitlines() if line.startswith("note: the network")]
            return f"{name}: {' '.join(notes)} {done.stderr[-3000:]}" if done.returncode else ""

        with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
            failed = [said for said in pool.map(carry_out, jobs) if said]
        if not failed:
            failed = [one for case in cases for one in compare(case, root)]
    print("failed:", "; ".join(failed) or "none")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
