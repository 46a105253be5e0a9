"""Sums on a CPU depend on the number of threads: a study keeps the number that it began with, whoever goes on with it."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from train.tiny_runs import CPU, train_tiny

from sizewise.train.config import Runtime

STUDY = """
import sys
from pathlib import Path
from sizewise.study.compare import compare
from sizewise.study.engines.engine import make_engine
from sizewise.study.study_words import parse_study
from sizewise.train.config import Runtime
words = {"data": "synthetic", "losses": "CE", "seeds": "2", "settings": ("epochs=2", "steps_per_epoch=2", "batch_size=2")}
runtime = Runtime(accelerator="cpu", save_seconds=0)
compare(parse_study(words), folder=Path(sys.argv[1]), runtime=runtime, engine=make_engine("local", {"jobs": sys.argv[2]}))
"""


def run_study(folder, jobs):
    """As a program of its own, which has all cores unless it is told otherwise."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", STUDY, folder, jobs], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / "results.csv").read_bytes()


def test_a_resumed_study_gives_the_same_bits_with_one_run_left_and_with_other_jobs(tmp_path):
    whole = run_study(tmp_path / "whole", "2")
    begun = json.loads((tmp_path / "whole" / "study.json").read_text())["threads"]
    for jobs in ("2", "1"):
        folder = tmp_path / f"resumed with {jobs}"
        shutil.copytree(tmp_path / "whole", folder)
        last = sorted((folder / "runs").iterdir())[-1]
        shutil.rmtree(last)
        (folder / "results.csv").unlink()
        assert run_study(folder, jobs) == whole
        assert json.loads((last / "versions.json").read_text())["threads"] == begun


@pytest.mark.usefixtures("no_curves")
def test_a_resumed_run_keeps_the_threads_that_it_began_with(tmp_path):
    """Whatever torch has by then; and the process has its own number back afterwards."""
    before = torch.get_num_threads()
    folder = tmp_path / "run"
    train_tiny("synthetic", folder, runtime=Runtime(accelerator="cpu", threads=3, save_seconds=0), epochs=2)
    assert torch.get_num_threads() == before
    assert json.loads((folder / "versions.json").read_text())["threads"] == 3
    for name in ("cases.csv", "last.pt"):
        (folder / name).unlink()
    train_tiny("synthetic", folder, runtime=CPU, resume=True, epochs=2)
    assert json.loads((folder / "versions.json").read_text())["threads"] == 3


@pytest.fixture
def no_curves(monkeypatch):
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
