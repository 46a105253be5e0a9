"""Studies: what is finished is kept, what was killed goes on, what fails does not stop the others."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from data.layouts.image_folder import write_multiclass_folder
from sampling import EXHAUSTIVE
from study.tiny_study import tiny_study

from sizewise.errors import BadInput
from sizewise.study.grid import plan_runs
from sizewise.study.study_folder import read_study, run_status
from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.config import Runtime
from sizewise.train.task import make_model

PROGRAM = Path(__file__).with_name("tiny_study.py")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "whole"
    assert tiny_study(folder) == []
    return folder


def runs(folder):
    return sorted((folder / "runs").iterdir())


def test_every_loss_and_seed_has_a_run_and_all_cases_are_in_the_results(finished):
    assert len(runs(finished)) == 2 * 2
    lines = (finished / "results.csv").read_text().splitlines()
    # 60 test cases × 3 classes × 15 metrics, and 3 classes × 2 pooled ones, for each of 4 runs, after the header
    assert len(lines) == 1 + 4 * (60 * 3 * 15 + 3 * 2)


def test_losses_of_a_seed_start_from_the_same_weights(finished):
    """Paired: the plan of an epoch never asks for the loss (see test_train_plan), and neither do the weights."""
    by_loss = {run.config.loss: run for run in plan_runs(read_study(finished)) if run.config.seed == 1}
    assert set(by_loss) == {"CE", "RCE"}
    models = [make_model(run.config, run.run.task, in_channels=1) for run in by_loss.values()]
    first, second = (list(model.state_dict().values()) for model in models)
    assert all(bool((a == b).all()) for a, b in zip(first, second, strict=True))


def test_a_second_call_runs_nothing_and_adding_a_seed_runs_only_that(finished, tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(finished, folder)
    before = {run.name: (run / "best.pt").stat().st_mtime_ns for run in runs(folder)}
    assert tiny_study(folder, losses="CE,RCE", seeds="3") == []
    assert len(runs(folder)) == 6
    assert {name: (folder / "runs" / name / "best.pt").stat().st_mtime_ns for name in before} == before
    assert read_study(folder).seeds == (0, 1, 2)


def test_killed_at_random_moments_it_ends_with_the_same_results(finished, tmp_path):
    folder = tmp_path / "study"
    randomly = random.Random(0)
    for _ in range(10 if EXHAUSTIVE else 2):
        process = subprocess.Popen([sys.executable, PROGRAM, folder], env=_environment(), stdout=subprocess.DEVNULL)
        begun = len(_saves(folder))
        deadline = time.monotonic() + 120
        while process.poll() is None and len(_saves(folder)) == begun and time.monotonic() < deadline:
            time.sleep(0.05)  # let it get somewhere, so that each kill hits another place
        time.sleep(randomly.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
    tiny_study(folder)
    assert (folder / "results.csv").read_bytes() == (finished / "results.csv").read_bytes()


def test_two_processes_share_a_study(finished, tmp_path):
    folder = tmp_path / "study"
    others = [
        subprocess.Popen([sys.executable, PROGRAM, folder], env=_environment(), stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [process.wait(timeout=600) for process in others] == [0, 0]
    tiny_study(folder)  # whoever came last may have found the other's runs unfinished
    assert (folder / "results.csv").read_bytes() == (finished / "results.csv").read_bytes()


def test_a_run_that_fails_is_reported_and_the_others_go_on(tmp_path, monkeypatch, capsys):
    from sizewise.errors import RunFailed
    from sizewise.study import worker

    original = worker.run_training

    def failing(run, **options):
        if run.config.loss == "RCE":
            raise RunFailed("the loss became no number in epoch 1")
        return original(run, **options)

    monkeypatch.setattr(worker, "run_training", failing)
    folder = tmp_path / "study"
    failed = tiny_study(folder, seeds="1")
    assert [run.config.loss for run in failed] == ["RCE"]
    assert "no number" in run_status(folder / "runs" / failed[0].name).error
    assert "failed: the loss became no number" in capsys.readouterr().out
    monkeypatch.undo()
    assert tiny_study(folder, seeds="1") == []  # the next try removes the failure
    assert load_checkpoint(folder / "runs" / failed[0].name / "best.pt")["epoch"] in (1, 2)


def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    from sizewise.study import worker

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "run_training", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tiny_study(tmp_path / "study", seeds="1")
    assert "keeps what was done. Give the same command again to go on." in capsys.readouterr().err


def test_an_interrupted_study_has_a_report_of_what_is_done(tmp_path, monkeypatch):
    """Two data sets and two λ, stopped when the second data set has one λ: its arm is called as in the first."""
    from sizewise.report.build import assemble
    from sizewise.study import worker
    from sizewise.study.compare import compare
    from sizewise.study.study_words import parse_study

    original, done = worker.run_training, []

    def stopped(run, **options):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(run)
        return original(run, **options)

    monkeypatch.setattr(worker, "run_training", stopped)
    data = write_multiclass_folder(tmp_path / "pictures")
    words = {"data": f"synthetic,{data}", "losses": "CE,RCE", "weights": "0.1,1", "seeds": "1", "reference": "RCE"}
    settings = ("epochs=1", "steps_per_epoch=1", "batch_size=2", "size=16x16", "encoder_weights=none")
    config = parse_study(words | {"models": "monai-unet-small", "settings": settings})
    with pytest.raises(KeyboardInterrupt):
        compare(config, folder=tmp_path / "study", runtime=Runtime(accelerator="cpu"))
    page = assemble(tmp_path / "study").page
    assert "no run of the reference" not in str(page.verdict)
    arms = {table.title: [row[0].text for row in table.rows] for table in page.score_tables}
    assert arms["Scores on synthetic"] == ["CE", "RCE λ=0.1", "RCE λ=1"]
    assert arms["Scores on pictures"] == ["CE", "RCE λ=0.1"]
    compared = [(row[0].text, row[1].text) for row in page.comparison_tables[0].rows]
    assert compared == [("synthetic", "CE"), ("synthetic", "RCE λ=1"), ("pictures", "CE")]


def test_a_study_of_which_every_run_fails_names_them(tmp_path, monkeypatch):
    from sizewise.errors import RunFailed
    from sizewise.study import worker

    def failing(run, **options):
        raise RunFailed("the disk is full")

    monkeypatch.setattr(worker, "run_training", failing)
    assert len(tiny_study(tmp_path / "study", seeds="1")) == 2
    assert not (tmp_path / "study" / "results.csv").exists()


def test_other_settings_in_the_same_folder_are_refused(finished):
    from sizewise.study.compare import compare
    from sizewise.study.study_words import parse_study

    config = parse_study({"data": "synthetic", "losses": "CE", "seeds": "1", "settings": ("epochs=3",)})
    with pytest.raises(BadInput, match=r"begun with other settings \(.*`epochs`: 2, now 3; .*use another `folder`"):
        compare(config, folder=finished, command="")


def _environment():
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def _saves(folder):
    return [(path, path.stat().st_mtime_ns) for path in folder.glob("runs/*/last.pt")] if folder.exists() else []
