"""The runner of the GPU checks, with checks that go well, fail, die, hang and talk; none of them needs a GPU."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
if not hasattr(os, "fork"):
    pytest.skip("the runner forks", allow_module_level=True)

# A program of its own: a process with threads, as one of pytest's may be, should not fork.
BEGIN = """
import os, subprocess, sys, time
from gpu.processes import Task, run_all

def well(): print("all is well")
def wrong(): assert 1 == 2, "one is not two"
def leaves(): sys.exit(3)
def dies(): os.kill(os.getpid(), 9)
def hangs(): subprocess.run(["sleep", "600"])
"""


def program(text):
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", BEGIN + text]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def said_by(text):
    started = program(text)
    said, _ = started.communicate(timeout=600)
    assert started.returncode == 0, said
    return said


def test_each_is_reported_and_ends_nobody_else():
    said = said_by("""
tasks = [Task(one.__name__, one) for one in (wrong, dies, leaves, well)]
outcomes = run_all([Task("hangs", hangs)], jobs=1, limit=0.5) + run_all(tasks, jobs=2, limit=600)
print([(one.name, one.result) for one in outcomes])
""")
    assert said.splitlines()[-1] == str(
        [
            ("hangs", "FAILED: killed at the limit"),
            ("wrong", "FAILED (exit code 1)"),
            ("dies", "FAILED (signal 9)"),
            ("leaves", "FAILED (exit code 3)"),
            ("well", "ok"),
        ]
    )
    assert "AssertionError: one is not two\nwrong: FAILED" in said
    assert "all is well\nwell: ok" in said


def test_the_longest_begins_first_and_output_comes_in_one_piece():
    said = said_by("""
def talks(name):
    for _ in range(3):
        print(name, flush=True)
        time.sleep(0.02)
from functools import partial
run_all([Task(name, partial(talks, name), seconds) for name, seconds in (("a", 1), ("b", 3), ("c", 2))], jobs=1, limit=60)
""")
    assert [line for line in said.splitlines() if ":" not in line] == list("bbbcccaaa")
    said = said_by("""
def talks():
    for _ in range(5):
        print(os.getpid(), flush=True)
        time.sleep(0.02)
run_all([Task(str(number), talks) for number in range(4)], jobs=4, limit=60)
""")
    numbers = [line for line in said.splitlines() if ":" not in line]
    assert [numbers[place : place + 5] for place in range(0, 20, 5)] == [[one] * 5 for one in numbers[::5]]


def test_what_follows_waits_and_is_left_out_after_a_failure():
    said = said_by("""
tasks = [Task("then", well, 9, after=("first",)), Task("never", well, after=("bad",)), Task("first", well), Task("bad", wrong)]
print([one.result for one in run_all(tasks, jobs=4, limit=60)])
""")
    assert said.index("first: ok") < said.index("then: ok")
    assert said.splitlines()[-1] == str(["ok", "FAILED: it follows bad", "ok", "FAILED (exit code 1)"])


def test_memory_is_shared_out():
    said = said_by("""
def shows():
    print("begins", time.monotonic(), flush=True)
    time.sleep(0.2)
    print("ends", time.monotonic())
tasks = [Task("large", well, gib=9.0), Task("one", shows, gib=5.0), Task("other", shows, gib=5.0)]
print([one.result for one in run_all(tasks, jobs=4, limit=60, gib=8.0)])
""")
    assert "'skipped: it takes up to 9 GiB, and 8 GiB of the GPU's memory are free'" in said.replace('"', "'")
    times = [float(line.split()[1]) for line in said.splitlines() if line.startswith(("begins", "ends"))]
    assert times == sorted(times)  # one after the other


@pytest.mark.parametrize("seconds", [0.0, 0.5])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_with_what_they_started(number, seconds, tmp_path):
    """Also where it comes before the fork has returned to the parent."""
    ready = tmp_path / "ready"
    started = program(f"""
fork = os.fork
def forks():
    process = fork()
    if process: time.sleep({seconds})
    return process
os.fork = forks
def starts():
    print("child", subprocess.Popen(["sleep", "600"]).pid, flush=True)
    open({str(ready)!r}, "w").close()
    time.sleep(600)
run_all([Task("one", starts)], jobs=1, limit=900)
""")
    while not ready.exists():
        assert started.poll() is None
        time.sleep(0.02)
    started.send_signal(number)
    said, _ = started.communicate(timeout=600)
    assert started.returncode == 128 + number
    assert "one: ended after" in said
    child = Path(f"/proc/{said.split()[1]}")
    while child.exists() and "sleep" in (child / "cmdline").read_text():  # until the kernel has buried it
        time.sleep(0.02)
