"""A study on a real, local Ray of two workers, one of which is killed in the middle."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from study.tiny_study import tiny_study

pytest.importorskip("ray", reason="ray is not installed: pip install '.[ray]'")
PROGRAM = Path(__file__).parents[1] / "tiny_study.py"


def test_a_killed_worker_loses_nothing(tmp_path):
    whole, by_ray = tmp_path / "whole", tmp_path / "ray"
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "RAY_DISABLE_MEMORY_MONITOR": "1"}
    command = [sys.executable, PROGRAM, by_ray, "engine=ray", "losses=CE", "seeds=2"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    killed = None
    deadline = time.monotonic() + 240
    while killed is None and process.poll() is None and time.monotonic() < deadline:
        working = ray_workers(process.pid) if list(by_ray.glob("runs/*/last.pt")) else []
        if working:
            killed = working[0]
            os.kill(killed, signal.SIGKILL)
        time.sleep(0.05)
    output, _ = process.communicate(timeout=300)
    assert killed is not None, output
    assert process.returncode == 0, output
    tiny_study(whole, losses="CE", seeds="2")
    assert (by_ray / "results.csv").read_bytes() == (whole / "results.csv").read_bytes()


def ray_workers(driver: int) -> list[int]:
    """The processes that are at work on a task of ours right now; Ray puts the task into their title."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"ray::carry_out" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:  # it ended while we looked
            continue
    return [pid for pid in found if pid != driver]
