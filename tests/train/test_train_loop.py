"""Which epoch is chosen, and runs at the edges: no validation, few cases, rare validations, determinism."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from PIL import Image
from train.tiny_runs import CPU, history_without_times, train_tiny

from sizewise.metrics.cases_csv import read_cases
from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.history import read_history
from sizewise.train.run_state import Progress, RunState
from sizewise.train.validation import Validation

pytestmark = pytest.mark.usefixtures("no_curves")


def found(score, loss):
    return Validation(loss=loss, terms={}, dsc=(score,), dsc_pooled=(score,), size_error=(0.0,))


def test_a_higher_score_wins_and_among_equals_the_lower_loss():
    """A network that finds nothing yet scores 0 in every epoch: the first must not stay the best."""
    fresh = Progress()
    assert fresh.improved_by(found(0.0, 9.0))
    held = Progress(best_score=0.0, best_loss=2.0)
    assert held.improved_by(found(0.0, 1.0))
    assert not held.improved_by(found(0.0, 2.0))
    assert held.improved_by(found(0.1, 5.0))
    assert not Progress(best_score=0.5, best_loss=2.0).improved_by(found(0.4, 0.1))
    assert not held.improved_by(found(0.0, float("nan")))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("data"))


def test_without_validation_the_last_epoch_is_taken(tmp_path):
    data = write_image_folder(tmp_path / "data", cases=2)
    lines = train_tiny(data, tmp_path / "run", epochs=2, batch_size=4, schedule="plateau")
    assert "1 training, 0 validation, 1 test case," in lines[0]
    assert lines[1].startswith("note: there are no validation cases")
    best, last = (load_checkpoint(tmp_path / "run" / name) for name in ("best.pt", "last.pt"))
    assert best["epoch"] == 2
    assert all(torch.equal(best["model"][name], last["model"][name]) for name in last["model"])
    assert all("val_loss" not in row for row in read_history(tmp_path / "run" / "history.csv"))


def test_the_best_epoch_is_that_of_the_history(data, tmp_path):
    train_tiny(data, tmp_path / "run", epochs=4, learning_rate=0.01)
    rows = read_history(tmp_path / "run" / "history.csv")
    best = max(rows, key=lambda row: (row["val_dsc"], -row["val_loss"]))
    assert load_checkpoint(tmp_path / "run" / "best.pt")["epoch"] == best["epoch"]


def test_validations_may_be_rare_but_the_last_epoch_has_one(data, tmp_path):
    train_tiny(data, tmp_path / "run", epochs=3, validate_every=2)
    assert ["val_loss" in row for row in read_history(tmp_path / "run" / "history.csv")] == [False, True, True]


def test_the_history_is_complete_after_each_epoch(data, tmp_path, monkeypatch):
    seen, save = [], RunState.save

    def noted(state, folder):
        seen.append(len(read_history(folder / "history.csv")))
        save(state, folder)

    monkeypatch.setattr(RunState, "save", noted)
    train_tiny(data, tmp_path / "run", epochs=3)
    assert seen == [1, 2, 3]


def test_patches_of_pictures_with_foreground(data, tmp_path):
    """Crops for training, windows for the rest, an image smaller than the patch included."""
    train_tiny(data, tmp_path / "run", size=(), patch=(40, 16), oversample=0.5)
    assert read_cases(tmp_path / "run" / "cases.csv")


def test_deterministic_runs_have_the_same_bits(data, tmp_path):
    try:
        for name in ("a", "b"):
            train_tiny(data, tmp_path / name, runtime=replace(CPU, deterministic=True), augment="picture")
    finally:
        torch.use_deterministic_algorithms(False)
        torch.backends.cudnn.deterministic = False
    assert history_without_times(tmp_path / "a") == history_without_times(tmp_path / "b")


def test_the_folder_says_how_the_run_was_made(data, tmp_path):
    train_tiny(data, tmp_path / "run", loss="DiceCE", weight=0.3, seed=5)
    versions = json.loads((tmp_path / "run" / "versions.json").read_text())
    assert versions["torch"] == torch.__version__
    assert versions["runtime"]["accelerator"] == "cpu"
    columns = {row.of for row in read_cases(tmp_path / "run" / "cases.csv")}
    assert [(of.loss, of.weight, of.seed, of.model) for of in columns] == [("DiceCE", "0.3", "5", "monai-unet-small")]
    assert {of.run for of in columns} == {versions["config_hash"]}
    assert np.isfinite(json.loads((tmp_path / "run" / "cost.json").read_text())["step_ms"])


def test_a_class_that_no_training_case_has_is_named(tmp_path):
    root = write_multiclass_folder(tmp_path / "data")
    assert not [line for line in train_tiny(root, tmp_path / "all") if line.startswith("note")]
    for mask in (root / "train" / "labels").iterdir():
        labels = np.array(Image.open(mask))
        Image.fromarray(np.where(labels == 2, 0, labels)).save(mask)
    notes = [line for line in train_tiny(root, tmp_path / "run") if line.startswith("note")]
    assert notes == ["note: no training case has class_2: that cannot be learnt from these cases"]
