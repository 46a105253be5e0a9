"""The model card: what a run's README.md says, from what is in its folder."""

import math
import os
from pathlib import Path

import pytest
from train.tiny_runs import CPU, TINY, train_tiny

from sizewise.metrics.cases_csv import read_cases
from sizewise.metrics.class_summary import summarise
from sizewise.metrics.registry import METRICS
from sizewise.train.model_card import _interval, _plain
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training

pytestmark = pytest.mark.usefixtures("no_curves")


def test_every_part_is_there_with_the_runs_own_numbers(tmp_path):
    train_tiny("synthetic", tmp_path / "run")
    card = (tmp_path / "run" / "README.md").read_text()
    for heading in ("## Data", "## Scores on the test cases", "## Sizes", "## Decision", "## Use", "## Limits"):
        assert heading in card
    one = summarise(read_cases(tmp_path / "run" / "cases.csv"))[0]
    assert f"| argmax | organ | {one.cases} | {100 * one.means['dsc']:.2f} (" in card
    assert "| DSC (%) | IoU (%) | NSD (%) | HD95 (pixels) |" in card
    assert f"| organ | {100 * one.means['true_proportion']:.2f} | " in card
    assert "decided by argmax" in card
    (tmp_path / "run" / "README.md").unlink()  # or of an earlier version
    train_tiny("synthetic", tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "README.md").read_text() == card


def test_the_scores_are_the_last_file_that_a_run_writes(tmp_path, monkeypatch):
    """A kill after them would leave half a card in a folder that is complete, and a study never looks there again."""
    written, replace = [], os.replace
    monkeypatch.setattr("os.replace", lambda old, new: (written.append(Path(new).name), replace(old, new)))
    train_tiny("synthetic", tmp_path / "run")
    assert "README.md" in written
    assert written[-1] == "cases.csv"
    written.clear()
    run = resolve(TINY | {"data": "synthetic"})
    run_training(run, folder=tmp_path / "run", runtime=CPU, resume=True, decisions=("argmax", "dice"))
    assert [name for name in written if name in ("README.md", "cases.csv")] == ["README.md", "cases.csv"]
    assert "| dice |" in (tmp_path / "run" / "README.md").read_text()


def test_the_interval_is_students():
    """Of 19, 20, 21: mean 20, deviation 1, t(0.975, 2) = 4.3027."""
    half, form = 4.302652729911275 / math.sqrt(3), METRICS["hd95"].screen[1]
    wanted = f"{form.format(20)} ({form.format(20 - half)} to {form.format(20 + half)})"
    assert _interval([19.0, 20.0, 21.0], METRICS["hd95"]) == wanted
    assert _interval([0.5], METRICS["dsc"]) == "50.00"
    assert _interval([0.0, 1.0], METRICS["dsc"]) == "50.00 (0.00 to 100.00)"
    assert _interval([0.0, 1.0], METRICS["component_recall"]) == "50.00 (0.00 to 100.00)"  # a share, like DSC
    assert _interval([], METRICS["dsc"]) == "–"


def test_names_from_outside_do_not_become_markup():
    assert _plain("a|b\n[x](y)<script>") == "a\\|b \\[x\\](y)\\<script\\>"
