"""A run folder diagnosed: the same numbers as its own scores, and the same as the diagnosis of what it saved."""

import json

import numpy as np
import pytest
from data.layouts.image_folder import write_multiclass_folder
from train.tiny_runs import train_tiny

from sizewise.diagnosis.diagnose import diagnose
from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import read_cases


def silent(line):
    pass


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
    train_tiny(write_multiclass_folder(tmp_path / "data"), tmp_path / "run")
    return tmp_path / "run"


def test_the_scores_of_the_run_are_found_again(run):
    found = diagnose(run, device="cpu", log=silent)
    rows = read_cases(run / "cases.csv")
    for one in found.classes:
        wanted = [row.value for row in rows if row.metric == "dsc" and row.class_id == one.class_id]
        wanted = [value for value in wanted if value is not None]
        assert one.dsc == pytest.approx(np.mean(wanted)) if wanted else np.isnan(one.dsc)
    kept = json.loads((run / "decision.json").read_text())
    assert found.temperature == kept["temperature"]
    assert "validation case" in found.fitted
    assert {"now", "dice", "fitted", "sizes", "matched"} == set(found.gains)


def test_a_run_that_is_not_finished(run):
    (run / "best.pt").unlink()
    with pytest.raises(BadInput, match=r"is no trained run: it has no best.pt"):
        diagnose(run, device="cpu", log=silent)
