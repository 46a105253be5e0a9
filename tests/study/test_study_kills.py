"""Three losses with three seeds, killed at ten random moments from the first run to the last."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("tiny_study.py")


@pytest.mark.exhaustive
@pytest.mark.skipif(not os.environ.get("SIZEWISE_EXHAUSTIVE"), reason="takes minutes; make test-all runs it")
def test_ten_kills_spread_over_a_study_of_nine_runs_change_nothing(tmp_path):
    randomly = random.Random()  # other moments every time
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    kills = 0
    for finished in (0, 0, 1, 2, 3, 4, 5, 6, 7, 8):
        process = start(killed)
        while process.poll() is None and not reached(killed, finished):
            time.sleep(0.02)
        time.sleep(randomly.uniform(0, 2.5))  # about as long as a run takes
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert kills  # as many as came before its end, on a fast machine fewer
    assert start(killed).wait(timeout=600) == 0
    assert start(whole).wait(timeout=600) == 0
    assert (killed / "results.csv").read_bytes() == (whole / "results.csv").read_bytes()
    assert not list(killed.rglob(".*"))  # and nothing half written is left


def start(folder):
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, PROGRAM, folder, "losses=CE,Dice,RCE", "seeds=3"]
    return subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)


def reached(folder, finished):
    """Whether so many runs are done; for none, whether the first has saved an epoch."""
    if finished:
        return len(list(folder.glob("runs/*/cases.csv"))) >= finished
    return bool(list(folder.glob("runs/*/last.pt")))
