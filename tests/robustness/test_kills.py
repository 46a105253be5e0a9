"""Killed at random instructions and inside saves, a run and a study end with the same tables, to the last bit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from data.layouts.image_folder import write_multiclass_folder
from sampling import EXHAUSTIVE

PROGRAM = Path(__file__).with_name("killed.py")


@pytest.mark.parametrize(("what", "kills"), [("train", 120 if EXHAUSTIVE else 8), ("study", 80 if EXHAUSTIVE else 3)])
def test_kills_change_nothing(tmp_path, what, kills):
    data = write_multiclass_folder(tmp_path / "data")
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-W", "ignore", PROGRAM, what, data, str(kills), "0", tmp_path / "runs"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f" kills of {what}" in done.stdout
    print(done.stdout)
