"""A study on a real, local Ray of two workers, one of which is killed in the middle."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from study.tiny_study import tiny_study

pytest.importorskip("ray", reason="ray is not installed: pip install '.[ray]'")
PROGRAM = Path(__file__).parents[1] / "tiny_study.py"
LOSS = "study.killing_loss:killing"


def test_a_killed_worker_loses_nothing(tmp_path, monkeypatch):
    whole, by_ray = tmp_path / "whole", tmp_path / "ray"
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "RAY_DISABLE_MEMORY_MONITOR": "1"}
    command = [sys.executable, PROGRAM, by_ray, "engine=ray", f"losses={LOSS}", "seeds=2"]
    # The process that trains kills itself, at a moment that it knows: nobody has to be fast enough to see it.
    done = subprocess.run(
        command, env=environment | {"KILL_IN_STUDY": str(by_ray)}, capture_output=True, text=True, timeout=500
    )
    assert Path(f"{by_ray}.killed").exists(), done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.setenv("PYTHONPATH", path)  # for the helpers of the study on this machine
    tiny_study(whole, losses=LOSS, seeds="2")
    assert (by_ray / "results.csv").read_bytes() == (whole / "results.csv").read_bytes()
