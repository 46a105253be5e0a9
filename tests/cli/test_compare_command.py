"""``sizewise compare`` from the command line: its exit code, what it prints, and the report that it leaves."""

import json

import torch
from typer.testing import CliRunner

from sizewise.cli.commands import make_app
from sizewise.errors import RunFailed
from sizewise.metrics.cases_csv import read_cases
from sizewise.parallel import available_cores
from sizewise.train.run_folder import locked

TINY = ["--epochs", "1", "--steps-per-epoch", "1", "--batch-size", "2", "--device", "cpu"]


def compare(folder, *arguments):
    torch.set_num_threads(1)
    words = ["compare", "--data", "synthetic", "--seeds", "1", *TINY, "--jobs", "1", "--out", str(folder), *arguments]
    return CliRunner().invoke(make_app(), words)


def test_a_failed_run_makes_the_exit_code_1_and_the_next_call_makes_up_for_it(tmp_path, monkeypatch):
    from sizewise.study import worker

    original = worker.run_training

    def failing(run, **options):
        if run.config.loss == "RCE":
            raise RunFailed("the loss became no number in epoch 1")
        return original(run, **options)

    for name in ("draw_all", "draw_overlays"):  # tested with the report, and most of its time
        monkeypatch.setattr(f"sizewise.report.build.{name}", lambda *arguments, **options: [])
    folder = tmp_path / "study"
    with monkeypatch.context() as patch:
        patch.setattr(worker, "run_training", failing)
        result = compare(folder, "--losses", "CE,RCE")
    assert result.exit_code == 1, result.output
    assert "failed: the loss became no number" in result.output
    assert "Run this again to retry" in result.output
    page = (folder / "report.html").read_text()
    assert "failed: the loss became no number in epoch 1" in page  # the report is made, and says so
    assert "CE is the only loss" in page
    result = compare(folder, "--losses", "CE,RCE")
    assert result.exit_code == 0, result.output
    assert "2 runs, 1 of them finished before" in result.output
    assert "One seed cannot separate RCE from luck" in " ".join(result.output.split())
    assert "report.html" in result.output
    study = json.loads((folder / "study.json").read_text())
    assert study["losses"] == ["CE", "RCE"]
    assert "no number" not in (folder / "report.html").read_text()


def test_decisions_are_added_to_a_finished_study_and_reported(tmp_path, monkeypatch):
    for name in ("draw_all", "draw_overlays"):
        monkeypatch.setattr(f"sizewise.report.build.{name}", lambda *arguments, **options: [])
    folder = tmp_path / "study"
    assert compare(folder, "--losses", "CE").exit_code == 0
    result = compare(folder, "--losses", "CE", "--decisions", "argmax,dice")
    assert result.exit_code == 0, result.output
    assert "1 to be decided without training" in result.output
    assert "Decisions of the same networks" in result.output
    assert {row.of.decision for row in read_cases(folder / "results.csv")} == {"argmax", "dice"}
    assert "CE (dice)" in (folder / "report.html").read_text()
    result = compare(folder, "--losses", "CE", "--decisions", "dise")
    assert "--decisions must be one of" in str(result.exception)


def test_a_loss_that_does_not_exist_is_found_before_anything_is_written(tmp_path):
    result = compare(tmp_path / "study", "--losses", "CE,RCF")
    assert "there is no loss 'RCF'" in str(result.exception)
    assert not (tmp_path / "study").exists()


def test_runs_of_another_process_are_no_failures(tmp_path, monkeypatch):
    for name in ("draw_all", "draw_overlays"):
        monkeypatch.setattr(f"sizewise.report.build.{name}", lambda *arguments, **options: [])
    folder = tmp_path / "study"
    assert compare(folder, "--losses", "CE").exit_code == 0
    (run,) = (folder / "runs").iterdir()
    (run / "cases.csv").unlink()
    (folder / "results.csv").unlink()
    with locked(run):  # as another process would while it scores
        result = compare(folder, "--losses", "CE")
        assert result.exit_code == 0, result.output
        assert "1 run is in the hands of another process" in " ".join(result.output.split())
        assert not (folder / "results.csv").exists()
        result = compare(folder, "--losses", "CE,RCE")  # what it can do itself is done and reported
        assert result.exit_code == 0, result.output
        assert "1 run is in the hands of another process" in " ".join(result.output.split())
        assert (folder / "results.csv").exists()
    assert compare(folder, "--losses", "CE,RCE").exit_code == 0
    losses = [row.of.loss for row in read_cases(folder / "results.csv")]
    assert sorted(set(losses)) == ["CE", "RCE"]
    assert losses.count("CE") == losses.count("RCE")  # every run is in the table, and once


def test_a_dry_run_says_what_the_study_can_show_and_writes_nothing(tmp_path):
    result = compare(tmp_path / "study", "--losses", "CE,Dice,RCE", "--seeds", "3", "--folds", "2", "--dry-run")
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert (
        "synthetic with monai-unet-small: 260 test cases over 2 folds; 3 losses × 3 seeds × 2 folds = 18 runs." in said
    )
    assert "The smallest difference that this could show, in 80 % of such studies:" in said
    assert "--seeds 5" in said
    assert not (tmp_path / "study").exists()
    one = compare(tmp_path / "study", "--losses", "CE,RCE", "--dry-run")
    assert "This can show nothing: one seed cannot separate a loss from luck. Give --seeds 3." in " ".join(
        one.output.split()
    )


def test_steps_are_timed_with_the_threads_that_a_run_gets(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("sizewise.study.outlook.time_steps", lambda run, runtime: seen.append(runtime.threads))
    monkeypatch.setattr("sizewise.train.machine.free_threads", lambda: 7)
    for words in ([], ["--threads", "3"], ["--jobs", "2"]):
        assert compare(tmp_path / "study", "--losses", "CE,RCE", "--device", "cpu", "--dry-run", *words).exit_code == 0
    assert seen == [7, 3, max(1, available_cores() // 2)]


def test_wrong_splits_are_sentences(tmp_path):
    for words, text in (
        (["--folds", "5", "--test-share", "0.2"], "`test_share` and `folds` each say which cases are tested"),
        (["--groups", "patient(", "--losses", "CE"], "is no regular expression"),
        (
            ["--split", "nowhere.csv"],
            "--split: there is no file 'nowhere.csv'. Wanted a CSV with the columns case and subset.",
        ),
    ):
        result = compare(tmp_path / "study", "--losses", "CE,RCE", *words, "--dry-run")
        assert result.exit_code != 0
        assert text.replace("`test_share`", "--test-share").replace("`folds`", "--folds") in str(result.exception)
