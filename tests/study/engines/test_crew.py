"""Other processes of this machine at work on a study: killed, interrupted, short of memory, or not needed."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
import torch
from study.tiny_study import SETTINGS, tiny_study

from sizewise.errors import BadInput, RunFailed
from sizewise.study import worker
from sizewise.study.engines import crew
from sizewise.study.engines.helper import start_helper, visible_gpu
from sizewise.study.engines.packing import Memory
from sizewise.study.grid import plan_runs
from sizewise.study.study_folder import open_study
from sizewise.study.study_words import parse_study
from sizewise.train.config import Runtime

PROGRAM = Path(__file__).parents[1] / "tiny_study.py"
SHORT_HELPER = """
import sys
if "sizewise.study.engines.helper" in sys.orig_argv:
    from sizewise.errors import RunFailed
    from sizewise.study import worker
    def run_training(run, **options):
        raise RunFailed("out of memory with batches of 8") from MemoryError()
    worker.run_training = run_training
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The study by one process: what "auto" means on a CPU."""
    folder = tmp_path_factory.mktemp("study") / "alone"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew, "start_helper", lambda *arguments, **options: pytest.fail("a helper was started"))
        assert tiny_study(folder, losses="CE", jobs="auto") == []
    return folder


def test_a_helper_that_is_killed_loses_nothing(alone, tmp_path):
    folder = tmp_path / "study"
    with started(folder, "jobs=2", "losses=CE") as process:
        (helper,) = wait_for(lambda: helpers_of(folder), process)
        wait_for(lambda: len(list(folder.glob("runs/*/config.json"))) > 1, process)
        os.kill(helper, signal.SIGKILL)
        output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    assert (folder / "results.csv").read_bytes() == (alone / "results.csv").read_bytes()
    assert all(f"/2] {run.name} finished" in output for run in (folder / "runs").iterdir()), output  # by whom ever


def test_ctrl_c_ends_the_helpers(tmp_path):
    """It goes to the parent alone: a helper is in a session of its own."""
    folder = tmp_path / "study"
    with started(folder, "jobs=2", "seeds=8") as process:  # sixteen runs: it is not done by then
        wait_for(lambda: helpers_of(folder), process)
        wait_for(lambda: list(folder.glob("runs/*/history.csv")), process)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=600)
    assert process.returncode not in (0, None), output
    assert helpers_of(folder) == []
    assert "repeated alone" not in output  # its run is unfinished, not failed
    assert "keeps what was done" in output


def test_a_helper_ends_when_its_parent_is_gone(tmp_path):
    helper = start_helper(tmp_path, Runtime(accelerator="cpu"), threads=1)
    helper.stdin.close()  # as the system does when the parent is killed
    assert helper.wait(600) == 1
    helper.stdout.close()


def test_a_helper_says_what_it_does_and_ends_when_there_is_nothing_more(tmp_path):
    """Two runs are handed to it by name: it answers each epoch, and how the run ended; what was done before is skipped."""
    config = parse_study({"data": "synthetic", "losses": "CE", "seeds": "1", "settings": SETTINGS})
    (run,) = plan_runs(open_study(tmp_path / "study", config, command=""))
    helper = start_helper(tmp_path / "study", Runtime(accelerator="cpu", save_seconds=0), threads=1)
    helper.stdin.write(f"{run.name}\n{run.name}\n\n")
    helper.stdin.flush()
    lines = [line.split() for line in helper.stdout]
    assert [line[0] for line in lines] == ["ready", "epoch", "epoch", "ended", "ended"]
    assert {line[1] for line in lines[1:]} == {run.name}
    assert all(float(line[2]) > 0 for line in lines[1:3])
    assert [line[2] for line in lines[3:]] == ["finished", "skipped"]
    assert helper.wait(600) == 0
    helper.communicate()  # closes the pipes


def test_a_run_that_does_not_fit_beside_others_is_repeated_alone(alone, tmp_path, monkeypatch, capfd):
    """A machine that pretends to have a GPU: the helper joins when the pace is known, and fails for lack of memory."""
    folder = tmp_path / "study"
    (tmp_path / "sitecustomize.py").write_text(SHORT_HELPER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("study.tiny_study.Runtime", lambda **options: Runtime(**options | {"accelerator": "auto"}))
    monkeypatch.setattr(crew.torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(crew, "available_cores", lambda: 4)
    monkeypatch.setattr(crew.Crew, "_device_memory", lambda self, gpu: Memory(free=90, total=100, one=10))
    monkeypatch.setattr(crew.Crew, "_host_memory", lambda self: Memory(free=90, total=100, one=10))
    monkeypatch.setattr("sizewise.study.engines.packing.STARTING_SECONDS", 0.0)
    original, tried = worker.run_training, []
    helper_ended, ended = threading.Event(), crew.Crew.ended

    def note_end(self, run, outcome):
        ended(self, run, outcome)
        if outcome == "crowded":
            helper_ended.set()

    def unhurried(run, **options):
        original(run, **options)
        tried.append(run.config.seed)
        assert helper_ended.wait(600)  # the helper was started after this run's second epoch

    monkeypatch.setattr(crew.Crew, "ended", note_end)
    monkeypatch.setattr(worker, "run_training", unhurried)
    assert tiny_study(folder, losses="CE", jobs="auto") == []
    assert tried == [0, 1]
    output = capfd.readouterr()
    assert output.out.count("failed beside other runs, and is repeated alone at the end: out of memory") == 1
    assert output.out.count(" finished in ") == 2
    assert "Error" not in output.err  # the helper ended as it should
    assert (folder / "results.csv").read_bytes() == (alone / "results.csv").read_bytes()


def test_what_others_may_have_caused():
    full = RunFailed("out of memory")
    full.__cause__ = torch.OutOfMemoryError("CUDA out of memory")
    assert all(map(worker.is_crowding, (full, MemoryError(), BrokenProcessPool(), RuntimeError("CUDA error: busy"))))
    others = (RunFailed("the loss became no number"), BadInput("no masks"), RuntimeError("shape mismatch"))
    assert not any(map(worker.is_crowding, others))


def test_a_gpu_is_named_as_the_parent_sees_it():
    assert [visible_gpu("GPU-a, GPU-b", n) for n in (0, 1)] == ["GPU-a", "GPU-b"]
    assert visible_gpu("", 2) == "2"


class started:
    """The study as a program of its own, which does not outlive the test."""

    def __init__(self, folder, *options):
        path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, folder, *options],
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self):
        return self.process

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()


def wait_for(found, process=None):
    while process is None or process.poll() is None:
        if result := found():
            return result
        time.sleep(0.05)
    if result := found():  # it ended meanwhile
        return result
    raise AssertionError("it did not happen: " + (process.communicate()[0] if process and process.poll() else ""))


def helpers_of(folder):
    """Processes that are not yet dead."""
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:  # it ended while we looked
            continue
        if b"sizewise.study.engines.helper" in words and str(folder).encode() in words:
            pids.append(int(entry.name))
    return pids


def test_whoever_meets_a_run_that_was_just_begun_leaves_its_files(tmp_path):
    """Two processes may both find no run in a folder; the one that comes second must not clear it away."""
    from sizewise.train import run
    from sizewise.train.resolve import resolve
    from sizewise.train.run_folder import RunBusy, locked, open_run

    folder = tmp_path / "run"
    found = resolve({"data": "synthetic", "epochs": 1, "precision": "float32"})
    assert open_run(folder, found.config, resume=True)
    with locked(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "open_run", lambda *arguments, **options: True)  # it looked before the other wrote
        with pytest.raises(RunBusy):
            run.run_training(found, folder=folder, runtime=Runtime(accelerator="cpu"), resume=True)
    assert (folder / "config.json").exists()
