"""benchmarks/evidence/aggregate.py: from the scores of every case to the tables that ship."""

import sys
from pathlib import Path

import numpy as np
import pytest
from data.layouts.image_folder import write_image_folder
from test_evidence import FOLDER

from sizewise.advice.evidence_table import Kind, read_evidence

LOSSES = {"CE": "", "CE + 1 * Dice": "", "CE + 3 * Dice": "", "JaccardCE": "0.75", "size_terms:huber": ""}


@pytest.fixture
def scripts(monkeypatch, tmp_path):
    """The scripts as modules, with tables of one set and its data in a folder."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(FOLDER)])
    import aggregate
    import tables

    monkeypatch.setattr(tables, "RESULTS", tmp_path / "results")
    write_image_folder(tmp_path / "data" / "kvasir-seg", cases=12)
    random, hard = np.random.default_rng(0), np.linspace(0.5, 0.9, 20)
    scores, runs = [], []
    for loss, weight in LOSSES.items():
        for seed in range(1 if "3 *" in loss else 2):
            values = hard + 0.02 * ("Dice" in loss) + random.normal(0, 0.01, len(hard))
            runs.append(
                dict(
                    zip(
                        tables.RUN_HEAD,
                        (loss, str(seed), f"0.8{seed}", "3", "150", "20.0", "1.2", "0.7", "", "device GPU; torch"),
                        strict=True,
                    )
                )
            )
            for decision, more in (("argmax", 0.0), ("dice", 0.01)):
                of = ("", "kvasir-seg", "fpn-resnet50", loss, weight, str(seed), decision)
                scores += [(*of, f"c{at}", "1", "dsc", f"{value + more:.5g}") for at, value in enumerate(values)]
                scores += [(*of, f"c{at}", "1", "size_error", "-0.01") for at in range(len(values))]
                scores.append((*of, "all", "1", "iou_pooled", "0.5"))
    tables.write("kvasir", scores, runs)
    yield aggregate, tables
    for name in ("advice_page", "aggregate", "shrink", "tables"):
        sys.modules.pop(name, None)


def test_one_command_writes_both_tables(scripts, tmp_path, monkeypatch, capsys):
    aggregate, tables = scripts
    (tmp_path / "out").mkdir()
    given = ("--data", tmp_path / "data", "--results", tables.RESULTS, "--out", tmp_path / "out")
    for _ in range(2):  # again, over what is there
        monkeypatch.setattr(sys, "argv", ["aggregate.py", *map(str, given)])
        aggregate.main()
        assert "1 sets, 8 arms" in capsys.readouterr().out
    (found,) = read_evidence(tmp_path / "out")
    assert (found.name, found.model, found.recipe) == ("kvasir", "fpn-resnet50", "any-way-up")
    assert (found.cases, found.steps, found.run_seconds, found.machine) == (20, 150, 20.0, "GPU")
    assert (found.features.classes, found.features.spatial_dims) == (1, 2)
    assert 1 <= found.features.components < 2
    kinds = found.chosen()
    assert set(kinds) == {
        Kind(loss, decision) for loss in ("CE", "DiceCE", "JaccardCE") for decision in ("argmax", "dice")
    }
    assert kinds[Kind("DiceCE")].weight == "1"  # λ = 3 has one seed
    assert kinds[Kind("CE")].gain == pytest.approx(-0.02, abs=0.006)
    assert kinds[Kind("CE", "dice")].decided == pytest.approx(0.01, abs=1e-4)
    assert kinds[Kind("CE")].size_error == pytest.approx(0.01)


def test_a_weight_that_was_never_decided_has_one_line(scripts, tmp_path, monkeypatch, capsys):
    aggregate, tables = scripts
    rows = [row for row in tables.read_scores("kvasir") if (row[3], row[6]) != ("CE + 3 * Dice", "dice")]
    tables.write("kvasir", rows, tables.read_runs("kvasir"))
    (tmp_path / "out").mkdir()
    given = ("--data", tmp_path / "data", "--results", tables.RESULTS, "--out", tmp_path / "out")
    monkeypatch.setattr(sys, "argv", ["aggregate.py", *map(str, given)])
    aggregate.main()
    assert "1 sets, 7 arms" in capsys.readouterr().out
    (found,) = read_evidence(tmp_path / "out")
    assert [arm.kind.decision for arm in found.arms if arm.weight == "3"] == ["argmax"]


def test_the_guide_says_what_the_tables_say(scripts):
    from advice_page import PAGE, with_parts

    text = PAGE.read_text(encoding="utf-8")
    assert with_parts(text, read_evidence()) == text, "run benchmarks/evidence/aggregate.py"


def test_nothing_of_a_machine_is_written(scripts):
    """What ships names sets, never folders."""
    package = Path(__file__).parents[1] / "src" / "sizewise" / "advice"
    for name in ("sets.csv", "arms.csv"):
        assert "/" not in (package / name).read_text(encoding="utf-8")
