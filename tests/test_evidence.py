"""benchmarks/evidence: what a part runs, how λ is chosen, and what the tables keep."""

import json
import sys
from pathlib import Path

import pytest

from sizewise.metrics.cases_csv import Row, RunColumns, write_cases
from sizewise.study.study_config import StudyConfig
from sizewise.train.history import write_history

FOLDER = Path(__file__).parents[1] / "benchmarks" / "evidence"


@pytest.fixture
def evidence(monkeypatch, tmp_path):
    """The scripts as modules, with their tables in an empty folder."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(FOLDER)])
    import run
    import tables

    monkeypatch.setattr(tables, "RESULTS", tmp_path / "results")
    yield run, tables
    for name in ("run", "tables", "shrink", "size_terms"):
        sys.modules.pop(name, None)


def finished_run(folder: Path, loss: str, seed: int, validation: list[float]) -> Path:
    folder.mkdir(parents=True)
    of = RunColumns(run=folder.name, data="/somewhere/kvasir-seg", loss=loss, seed=str(seed), decision="argmax")
    rows = [Row(of, "a", 1, "dsc", 0.123456789), Row(of, "a", 1, "hd95", 3.0), Row(of, "b", 1, "dsc", None)]
    write_cases(folder / "cases.csv", rows)
    history = [
        {"epoch": epoch, "val_dsc": score, "steps": 10, "train_seconds": 2.0}
        for epoch, score in enumerate(validation, start=1)
    ]
    write_history(folder / "history.csv", history)
    (folder / "decision.json").write_text(json.dumps({"temperature": 0.7, "likelihood": 1.5}))
    versions = {"torch": "2.6", "monai": "1.5", "segmentation-models-pytorch": "0.5", "sizewise": "0.1"}
    (folder / "versions.json").write_text(json.dumps({"config_hash": "abc", "device": "cpu", **versions}))
    return folder


def test_tables_keep_every_finished_run_once(evidence, tmp_path, monkeypatch):
    _, tables = evidence
    monkeypatch.setenv("COMMIT", "1234567")
    monkeypatch.setattr(tables, "is_finished", lambda folder: folder.name != "begun")
    folders = [finished_run(tmp_path / "one", "CE", 0, [0.5, 0.8, 0.7]), tmp_path / "begun"]
    assert tables.add_runs("kvasir", folders) == 1
    assert tables.add_runs("kvasir", folders) == 0
    assert tables.finished("kvasir") == {("CE", "0")}
    (run,) = tables.read_runs("kvasir")
    assert run == {
        "loss": "CE",
        "seed": "0",
        "validation_dsc": "0.80000",
        "epoch": "2",
        "steps": "30",
        "train_seconds": "6.0",
        "temperature": "1.5",
        "decided_at": "0.7",
        "settings": "abc",
        "machine": "device cpu; torch 2.6; monai 1.5; segmentation-models-pytorch 0.5; sizewise 0.1; commit 1234567",
    }
    scores = tables.read_scores("kvasir")
    assert [row[-2:] for row in scores] == [("dsc", "0.1235"), ("dsc", "")]  # hd95 is not used by the page
    assert all(row[1] == "kvasir-seg" for row in scores)  # no path of a machine


def test_scores_come_back_from_their_columns_of_cases(evidence):
    """A case that a run lacks stays away, a score without a value stays empty, and odd names survive."""
    _, tables = evidence

    def line(loss, case, metric, value):
        of = {"data": "d", "model": "m", "loss": loss, "seed": "0", "case": case, "class": "1", "metric": metric}
        return tuple((of | {"value": value}).get(column, "") for column in tables.COLUMNS)

    scores = [
        line("CE", "a,b", "dsc", "0.5"),
        line("CE", "c", "dsc", ""),
        line("CE", "", "iou_pooled", "0.3"),
        line("CE + 1 * Dice", "c", "dsc", "-0.25"),
    ]
    tables.write("kvasir", scores, [])
    assert tables.read_scores("kvasir") == sorted(scores)


def test_the_weight_is_chosen_on_validation(evidence, tmp_path, monkeypatch):
    run, tables = evidence
    monkeypatch.setattr(tables, "is_finished", lambda folder: True)
    with pytest.raises(SystemExit, match="run --part pilot first"):
        run.planned("kvasir", "1")
    scores = {0.1: 0.6, 1.0: 0.9, 3.0: 0.7, 0.3: 0.95}
    folders = [
        finished_run(tmp_path / f"{term}-{weight}", run.compound(term, weight), 0, [scores[weight]])
        for term, weights in run.GRID.items()
        for weight in weights
    ]
    tables.add_runs("kvasir", folders)
    losses = [loss for loss, _ in run.planned("kvasir", "1")]
    assert losses == ["CE", "JaccardCE", "CE + 1 * Dice", "CE + 0.3 * SizeL1", "CE + 1 * SizeKL"]
    assert {seeds for _, seeds in run.planned("kvasir", "2")} == {(3, 4)}
    assert run.planned("kvasir", "3") == []
    assert run.planned("camvid", "sky") == [("CE", (0, 1)), ("CE + 1 * Dice", (0, 1))]
    assert not run.planned("drive", "sky")
    assert len(run.planned("acdc", "trials")) == len(run.TRIALS)
    assert run.planned("idrid", "trials") == []
    assert run.table("camvid", "sky") == "camvid-sky"
    assert run.table("camvid", "1") == "camvid"
    assert run.planned("kvasir", "longer") == [("CE", (0, 1)), ("CE + 1 * Dice", (0, 1))]
    assert run.planned("drive", "longer") == []
    assert run.table("kvasir", "longer") == "kvasir-longer"
    assert run.planned("drive", "3") == [("CE + 1 * Dice", (0, 1, 2)), ("CC-DiceCE", (0, 1, 2))]


def test_every_protocol_is_a_study_and_every_trial_a_loss(evidence):
    import yaml

    run, _ = evidence
    assert len(run.SETS) == 7
    for name in run.SETS:
        protocol = yaml.safe_load((FOLDER / "protocols" / f"{name}.yaml").read_text())
        StudyConfig(data=(protocol["data"],), losses=("CE",), settings=tuple(protocol["settings"].items()))
        assert {"recipe", "model", "epochs", "batch_size"} <= set(protocol["settings"])
    import torch

    import sizewise as sw

    logits, labels = torch.randn(2, 3, 8, 8, requires_grad=True), torch.randint(0, 3, (2, 8, 8))
    regions = torch.randint(0, 2, (2, 3, 8, 8))  # that may overlap
    for trial in run.TRIALS:
        for activation, target in (("softmax", labels), ("sigmoid", regions)):
            loss = sw.loss(f"size_terms:{trial}", activation=activation)(logits, target)
            loss.backward()
            assert loss.isfinite(), (trial, activation)
    assert logits.grad.isfinite().all()


def test_a_shrunken_set_has_the_same_files_and_shares(evidence, tmp_path):
    import numpy as np
    from PIL import Image

    run, _ = evidence
    regions = np.zeros((16, 24), bool)
    regions[4:12, 8:16] = True
    for folder, picture in (
        ("images", Image.new("RGB", (24, 16), (9, 90, 200))),
        ("masks_MA", Image.fromarray(regions)),
    ):
        (tmp_path / "all" / "train" / folder).mkdir(parents=True)
        picture.save(tmp_path / "all" / "train" / folder / "one.png")
    run.shrink(tmp_path / "all", tmp_path / "quarter", 4)
    mask = np.asarray(Image.open(tmp_path / "quarter" / "train" / "masks_MA" / "one.png"))
    assert mask.tolist() == [[0] * 6, [0, 0, 255, 255, 0, 0], [0, 0, 255, 255, 0, 0], [0] * 6]
    assert Image.open(tmp_path / "quarter" / "train" / "images" / "one.png").getpixel((3, 2)) == (9, 90, 200)
