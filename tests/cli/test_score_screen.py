"""The tables of scores: every number is there, and lines fit a terminal."""

from rich.console import Console

from sizewise.cli import show
from sizewise.cli.score_screen import show_scores
from sizewise.metrics.case import RegionScore
from sizewise.metrics.cases_csv import score_rows
from sizewise.metrics.overlap import Counts


def test_means_pooled_scores_sizes_and_counts(capsys):
    found = RegionScore(1, Counts(2, 3, 5, 100), {"nsd": 0.25, "hd95": 12.5})
    missed = RegionScore(1, Counts(0, 0, 8, 100), {"nsd": 0.0, "hd95": 141.4})
    absent = RegionScore(1, Counts(0, 0, 0, 100), {"nsd": None, "hd95": None})
    rows = score_rows({"a": [found], "b": [missed], "c": [absent]})
    show_scores(rows, title="Test scores of run", names={1: "right adrenal gland"})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == "Test scores of run: means over cases, and pooled"
    scores, sizes = (line.split() for line in lines if "right adrenal gland" in line)
    # percent: DSC (0.5 + 0) / 2, IoU (1/3 + 0) / 2, NSD 0.25 / 2, HD95 153.9 / 2; pooled 2·2 / (3 + 13) and 2 / (16 − 2)
    assert scores == ["1", "right", "adrenal", "gland", "25.00", "16.67", "12.50", "76.95", "25.00", "14.29"]
    # size error (−2 − 8 + 0) / 3 points of the image; relative (−2/5 − 1) / 2
    assert sizes == ["1", "right", "adrenal", "gland", "−3.333", "−70.0", "3", "1", "1", "0"]
    heads = [line.split() for line in lines if line.lstrip().startswith("class")]
    assert heads[0][:7] == ["class", "DSC", "(%)", "IoU", "(%)", "NSD", "(%)"]  # as in reports
    assert heads[1][:6] == ["class", "of", "image", "(points)", "relative", "(%)"]


def test_several_classes_have_a_mean(capsys):
    """Over the classes, of their means over cases, as reports have it; a class without a value is left out."""
    cases = {
        "a": [
            RegionScore(1, Counts(2, 3, 5, 100), {"nsd": 0.5, "hd95": 2.0}),
            RegionScore(2, Counts(0, 0, 0, 100), {}),
        ],
        "b": [
            RegionScore(1, Counts(0, 0, 8, 100), {"nsd": 0.0, "hd95": 4.0}),
            RegionScore(2, Counts(3, 3, 3, 100), {}),
        ],
    }
    show_scores(score_rows(cases))
    (mean,) = (line.split() for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["mean"])
    # class 1 is (50 + 0) / 2, class 2 is 100 in the one case that has it; pooled 2·2 / (3 + 13) and 1
    assert mean == ["mean", "62.50", "58.33", "25.00", "3.00", "62.50", "57.14"]


def test_names_of_usual_length_fit_80_columns(capsys, monkeypatch):
    monkeypatch.setattr(show, "_console", lambda: Console(width=80))
    show_scores(
        score_rows({"a": [RegionScore(10, Counts(2, 3, 5, 100), {"nsd": 0.25, "hd95": 1234.5})]}),
        names={10: "pancreas"},
    )
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) < 80
    assert len([line for line in lines if "10 pancreas" in line]) == 2  # no table is in parts
