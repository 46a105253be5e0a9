"""Arms from best to worst, and which of them cannot be told apart."""

import numpy as np
import pytest

from sizewise.metrics.registry import find_metric
from sizewise.report.chart import Figure
from sizewise.report.figures.differences import differences
from sizewise.report.judgement import UNTESTED
from sizewise.report.standing import stand
from sizewise.study.statistics.paired import compare
from sizewise.study.statistics.setting_scores import SettingScores

LEVELS = {"CE": 0.70, "near": 0.705, "far": 0.85, "twin": 0.851}


def scores_of(*, seeds=3, metric="dsc", cases=40):
    """Four arms on one data set: CE and near are a fifth of the seeds' spread apart, as far and twin are."""
    random = np.random.default_rng(0)
    hard = random.normal(0, 0.05, cases)
    values = np.stack(
        [
            level + hard + random.normal(0, 0.02, (seeds, 1)) + random.normal(0, 0.02, (seeds, cases))
            for level in LEVELS.values()
        ]
    )
    names = tuple(f"{n:03}" for n in range(cases))
    return SettingScores(
        "data", "net", find_metric(metric), tuple(LEVELS), tuple(map(str, range(seeds))), names, (1,),
        values[..., None], np.ones((4, seeds), dtype=bool),
    )  # fmt: skip


def standing_of(scores, **options):
    return stand(scores, "CE", compare(scores, reference="CE"), **options)


def test_arms_are_ordered_and_ties_are_runs_of_neighbours():
    found = standing_of(scores_of())
    assert set(found.arms[:2]) == {"far", "twin"}
    assert set(found.arms[2:]) == {"CE", "near"}
    assert found.ties == [(0, 1), (2, 3)]
    assert found.tick("far") == "✓"
    assert found.tick("near") == found.tick("CE") == ""
    assert found.against("far", "better") == found.arms[2:]


def test_less_is_better_for_distances():
    assert standing_of(scores_of(metric="hd95")).arms[:2] == standing_of(scores_of()).arms[:1:-1]


def test_what_cannot_be_tested_is_no_tie():
    found = standing_of(scores_of(seeds=1))
    assert found.ties == []
    assert set(found.words.values()) == {UNTESTED}


def test_the_figure_marks_what_is_shown_and_joins_ties():
    figure = differences({"data": standing_of(scores_of())}, list(LEVELS))
    assert isinstance(figure, Figure)
    (panel,) = figure.views[0].panels
    assert [name for _, name in panel.y_ticks][-2:] in (["CE (reference)", "near"], ["near", "CE (reference)"])
    points = [mark for mark in panel.marks if mark.kind == "points"]
    assert [mark.hollow for mark in points].count(False) == 3  # far, twin, and the reference itself
    assert sum(mark.thick for mark in panel.marks) == 2
    assert {row[1]: row[-1] for row in figure.rows} == {"far": "better", "twin": "better", "near": "not shown"}


@pytest.mark.parametrize("seeds", [1, 3])
def test_an_untested_point_has_no_bar(seeds):
    figure = differences({"data": standing_of(scores_of(seeds=seeds))}, list(LEVELS))
    coloured = [mark for mark in figure.views[0].panels[0].marks if mark.kind == "line" and mark.style >= 0]
    assert len(coloured) == (3 if seeds > 1 else 0)
