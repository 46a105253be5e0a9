"""The tables of scores: every number is there, and lines fit a terminal."""

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
    # DSC (0.5 + 0) / 2, IoU (1/3 + 0) / 2, NSD 0.25 / 2, HD95 153.9 / 2; pooled 2·2 / (3 + 13) and 2 / (16 − 2)
    assert scores == ["1", "right", "adrenal", "gland", "0.2500", "0.1667", "0.1250", "76.95", "0.2500", "0.1429"]
    # size error (−2 − 8 + 0) / 3 % of the image; relative (−2/5 − 1) / 2
    assert sizes == ["1", "right", "adrenal", "gland", "-3.333%", "-70.0%", "3", "1", "1", "0"]
    assert max(map(len, map(str.rstrip, lines))) <= 90


def test_names_of_usual_length_fit_80_columns(capsys):
    show_scores(
        score_rows({"a": [RegionScore(10, Counts(2, 3, 5, 100), {"nsd": 0.25, "hd95": 1234.5})]}),
        names={10: "pancreas"},
    )
    assert max(map(len, map(str.rstrip, capsys.readouterr().out.splitlines()))) < 80
