"""The model card: what a run's README.md says, from what is in its folder."""

import math

import pytest
from train.tiny_runs import train_tiny

from sizewise.metrics.cases_csv import read_cases
from sizewise.metrics.class_summary import summarise
from sizewise.metrics.registry import METRICS
from sizewise.train.model_card import _interval, _plain

pytestmark = pytest.mark.usefixtures("no_curves")


def test_every_part_is_there_with_the_runs_own_numbers(tmp_path):
    train_tiny("synthetic", tmp_path / "run")
    card = (tmp_path / "run" / "README.md").read_text()
    for heading in ("## Data", "## Scores on the test cases", "## Sizes", "## Decision", "## Use", "## Limits"):
        assert heading in card
    one = summarise(read_cases(tmp_path / "run" / "cases.csv"))[0]
    assert f"| argmax | organ | {one.cases} | {METRICS['dsc'].screen[1].format(one.means['dsc'])} (" in card
    assert f"{100 * one.means['true_proportion']:.2f} %" in card
    assert "decided by argmax" in card
    (tmp_path / "run" / "README.md").unlink()  # killed right before it, or of an earlier version
    train_tiny("synthetic", tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "README.md").read_text() == card


def test_the_interval_is_students():
    """Of 1, 2, 3: mean 2, deviation 1, t(0.975, 2) = 4.3027."""
    half = 4.302652729911275 / math.sqrt(3)
    assert _interval([1.0, 2.0, 3.0], "{:.4f}") == f"2.0000 ({2 - half:.4f} to {2 + half:.4f})"
    assert _interval([0.5], "{:.2f}") == "0.50"
    assert _interval([], "{:.2f}") == "–"


def test_names_from_outside_do_not_become_markup():
    assert _plain("a|b\n[x](y)<script>") == "a\\|b \\[x\\](y)\\<script\\>"
