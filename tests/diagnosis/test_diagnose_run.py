"""A run folder diagnosed: the same numbers as its own scores, and the same as the diagnosis of what it saved."""

import json
from dataclasses import replace

import numpy as np
import pytest
from data.layouts.idrid import write_idrid
from data.layouts.image_folder import write_multiclass_folder
from train.tiny_runs import train_tiny

from sizewise.data.recognise import open_dataset
from sizewise.diagnosis.diagnose import diagnose
from sizewise.diagnosis.diagnosis_page import write_diagnosis
from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import read_cases
from sizewise.train.datasets import OpenDatasets


def silent(line):
    pass


@pytest.fixture(autouse=True)
def no_curves(monkeypatch):
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)


@pytest.fixture
def run(tmp_path):
    train_tiny(write_multiclass_folder(tmp_path / "data"), tmp_path / "run")
    return tmp_path / "run"


def check_scores(run, found):
    rows = read_cases(run / "cases.csv")
    for one in found.classes:
        for metric, value in (("dsc", one.dsc), ("size_error", one.bias)):
            wanted = [row.value for row in rows if row.metric == metric and row.class_id == one.class_id]
            wanted = [each for each in wanted if each is not None]
            assert value == pytest.approx(np.mean(wanted)) if wanted else np.isnan(value)


def test_the_scores_of_the_run_are_found_again(run):
    found = diagnose(run, device="cpu", log=silent)
    check_scores(run, found)
    kept = json.loads((run / "decision.json").read_text())
    assert found.temperature == kept["temperature"]
    assert "validation case" in found.fitted
    assert {"now", "dice", "fitted", "sizes", "matched"} == set(found.gains)


def test_notes_about_the_data_were_for_its_training(run, monkeypatch):
    """They name options that a diagnosis does not have."""
    noted = replace(open_dataset(run.parent / "data"), notes=("say so with `groups=^[^_]+`",))
    monkeypatch.setattr(OpenDatasets, "open", lambda self, config: noted)
    assert not [note for note in diagnose(run, device="cpu", log=silent).notes if "groups" in note]


def test_regions_that_may_overlap(tmp_path):
    run = tmp_path / "run"
    train_tiny(write_idrid(tmp_path / "data"), run)
    found = diagnose(run, device="cpu", log=silent)
    assert len(found.classes) == 5
    check_scores(run, found)
    assert write_diagnosis(found, tmp_path / "out").exists()


def test_a_run_that_is_not_finished(run):
    (run / "best.pt").unlink()
    with pytest.raises(BadInput, match=r"is no trained run: it has no best.pt"):
        diagnose(run, device="cpu", log=silent)
