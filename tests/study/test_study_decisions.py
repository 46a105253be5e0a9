"""A study under several decisions: from the same weights, at once or later, whoever carries it out."""

import json
import shutil

import pytest
import torch
from data.layouts.image_folder import write_multiclass_folder

from sizewise.errors import BadInput, RunFailed
from sizewise.metrics.cases_csv import decisions_in, read_cases
from sizewise.study import worker
from sizewise.study.compare import compare
from sizewise.study.engines.engine import make_engine
from sizewise.study.study_config import StudyConfig
from sizewise.study.study_folder import read_study, run_status
from sizewise.study.study_words import parse_study
from sizewise.train.config import Runtime

SETTINGS = ("epochs=1", "steps_per_epoch=1", "batch_size=2", "size=16x16", "recipe=demo")
BOTH = ("argmax", "dice")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("pictures"))


def study_of(data, decisions="", losses="CE,RCE", seeds="1"):
    words = {"data": str(data), "losses": losses, "seeds": seeds, "models": "monai-unet-small", "settings": SETTINGS}
    return parse_study(words | {"decisions": decisions})


def carry_out(data, folder, decisions="", *, engine="local", jobs=1, **more):
    torch.set_num_threads(1)
    made = make_engine(engine, {"jobs": jobs} if engine == "local" else {})
    runtime = Runtime(accelerator="cpu", save_seconds=0)
    return compare(study_of(data, decisions, **more), folder=folder, command="", runtime=runtime, engine=made)


@pytest.fixture(scope="module")
def plain(data, tmp_path_factory):
    """Finished before anybody asked for decisions."""
    folder = tmp_path_factory.mktemp("study") / "plain"
    assert carry_out(data, folder) == ([], [])
    return folder


@pytest.fixture(scope="module")
def decided(data, plain, tmp_path_factory):
    folder = shutil.copytree(plain, tmp_path_factory.mktemp("study") / "decided")
    assert carry_out(data, folder, "argmax,dice") == ([], [])
    return folder


def test_a_finished_study_gets_decisions_without_training(plain, decided):
    names = sorted(one.name for one in (plain / "runs").iterdir())
    assert sorted(one.name for one in (decided / "runs").iterdir()) == names  # no run has another hash
    for name in names:
        for file in ("best.pt", "last.pt", "history.csv", "config.json"):
            ours, theirs = (folder / "runs" / name / file for folder in (decided, plain))
            assert ours.stat().st_mtime_ns == theirs.stat().st_mtime_ns
        assert decisions_in(decided / "runs" / name / "cases.csv") == BOTH
    rows = read_cases(decided / "results.csv")
    assert [row for row in rows if row.of.decision == "argmax"] == read_cases(plain / "results.csv")
    assert len(rows) == 2 * len(read_cases(plain / "results.csv"))
    assert read_study(decided).decisions == BOTH


def test_again_without_the_flag_nothing_is_lost_and_nothing_done(data, decided, tmp_path, monkeypatch):
    folder = shutil.copytree(decided, tmp_path / "study")
    monkeypatch.setattr(worker, "run_training", lambda *given, **named: 1 / 0)
    assert carry_out(data, folder) == ([], [])
    assert read_study(folder).decisions == BOTH
    assert (folder / "results.csv").read_bytes() == (decided / "results.csv").read_bytes()


@pytest.mark.parametrize("jobs", [1, 2])
def test_at_once_and_in_helpers_it_is_the_same(data, decided, tmp_path, jobs):
    if jobs == 2:  # helpers learn of decisions from the study's folder
        folder = shutil.copytree(decided, tmp_path / "study")
        for table in folder.glob("runs/*/cases.csv"):
            kept = [line for line in table.read_text().splitlines(keepends=True) if ",dice," not in line]
            table.write_text("".join(kept))
    else:
        folder = tmp_path / "study"
    assert carry_out(data, folder, "dice", jobs=jobs) == ([], [])
    assert (folder / "results.csv").read_bytes() == (decided / "results.csv").read_bytes()


def test_a_task_of_ray_learns_of_decisions_from_the_folder(data, plain, decided, tmp_path):
    """What Ray calls on another machine, called here."""
    from sizewise.study.engines.ray_engine import carry_out as task
    from sizewise.study.study_folder import open_study

    folder = shutil.copytree(plain, tmp_path / "study")
    open_study(folder, study_of(data, "dice"), command="")
    for place in sorted((folder / "runs").iterdir()):
        task(str(folder), place.name, Runtime(accelerator="cpu"))
        assert (place / "cases.csv").read_bytes() == (decided / "runs" / place.name / "cases.csv").read_bytes()


def test_interrupted_between_runs_it_goes_on(data, plain, decided, tmp_path, monkeypatch):
    folder, done, original = shutil.copytree(plain, tmp_path / "study"), [], worker.run_training

    def stopped(run, **options):
        if done:
            raise KeyboardInterrupt
        done.append(run)
        return original(run, **options)

    with monkeypatch.context() as patch:
        patch.setattr(worker, "run_training", stopped)
        with pytest.raises(KeyboardInterrupt):
            carry_out(data, folder, "argmax,dice")
    found = sorted(decisions_in(table) for table in folder.glob("runs/*/cases.csv"))
    assert found == [("argmax",), BOTH]
    losses = {(row.of.loss, row.of.decision) for row in read_cases(folder / "results.csv")}
    assert len(losses) == 3  # what is there can be reported meanwhile
    assert carry_out(data, folder) == ([], [])  # the study remembers what was asked for
    assert (folder / "results.csv").read_bytes() == (decided / "results.csv").read_bytes()


def test_a_decision_that_fails_is_reported_and_leaves_the_scores(data, plain, tmp_path, monkeypatch):
    folder = shutil.copytree(plain, tmp_path / "study")

    def failing(run, **options):
        raise RunFailed("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(worker, "run_training", failing)
        outcome = carry_out(data, folder, "dice")
    assert len(outcome.failed) == 2
    place = folder / "runs" / outcome.failed[0].name
    assert run_status(place, BOTH).error == "the disk is full"
    assert run_status(place).word == "finished"
    assert (folder / "results.csv").read_bytes() == (plain / "results.csv").read_bytes()
    from sizewise.report.build import assemble

    assert any("the disk is full" in alert for alert in assemble(folder).page.alerts)
    assert carry_out(data, folder, "dice") == ([], [])


def test_studies_of_earlier_versions(data, plain, tmp_path):
    """Without decisions in study.json, and without the column in the tables."""
    folder = shutil.copytree(plain, tmp_path / "study")
    content = json.loads((folder / "study.json").read_text())
    del content["decisions"]
    (folder / "study.json").write_text(json.dumps(content))
    for table in folder.glob("runs/*/cases.csv"):
        rows = [line.split(",") for line in table.read_text().splitlines()]
        table.write_text("".join(",".join([*row[:6], *row[7:]]) + "\n" for row in rows))
    assert carry_out(data, folder, "dice") == ([], [])
    assert {row.of.decision for row in read_cases(folder / "results.csv")} == {*BOTH}


def test_words():
    assert study_of("synthetic", "dice").decisions == BOTH
    assert study_of("synthetic").decisions == ()
    with pytest.raises(BadInput, match=r"`decisions` must be one of .* got 'dise'. Did you mean 'dice'"):
        study_of("synthetic", "argmax,dise")
    plain, decided = (StudyConfig(data=("a",), losses=("CE",), decisions=one) for one in ((), BOTH))
    assert plain.joined(decided) == decided.joined(plain) == decided
    assert StudyConfig(data=("a",), losses=("CE",), decisions=("dice",)) == decided  # argmax always is one of them
