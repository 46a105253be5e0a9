"""cases.csv: exact round trip, whole or not at all, and its summary."""

import numpy as np
import pytest

from sizewise.errors import BadInput
from sizewise.metrics.case import RegionScore, score_case
from sizewise.metrics.cases_csv import (
    COLUMNS,
    Row,
    RunColumns,
    check_writable,
    join_cases,
    read_cases,
    score_rows,
    write_cases,
)
from sizewise.metrics.class_summary import summarise
from sizewise.metrics.overlap import Counts
from sizewise.metrics.registry import METRICS


def scores():
    """Three cases of one class: found, missed, true negative; and a false alarm of class 2 in the last."""
    return {
        "found": [
            RegionScore(1, Counts(3, 4, 5, 100), {"nsd": 1 / 3, "hd95": 0.1 + 0.2}),
            RegionScore(2, Counts(0, 0, 0, 100), {"nsd": None, "hd95": None}),
        ],
        "missed": [
            RegionScore(1, Counts(0, 0, 5, 100), {"nsd": 0.0, "hd95": 14.0}),
            RegionScore(2, Counts(0, 0, 0, 100), {"nsd": None, "hd95": None}),
        ],
        'neither, "quoted"': [
            RegionScore(1, Counts(0, 0, 0, 100), {"nsd": None, "hd95": None}),
            RegionScore(2, Counts(0, 9, 0, 100), {"nsd": 0.0, "hd95": 14.0}),
        ],
    }


def test_round_trip_is_exact(tmp_path):
    rows = list(
        score_rows(
            scores(),
            of=RunColumns(run="r1", data="kvasir", model="fpn", loss="RCE", weight="1.0", seed="0", decision="argmax"),
        )
    )
    write_cases(tmp_path / "new" / "cases.csv", rows)
    assert read_cases(tmp_path / "new" / "cases.csv") == rows
    lines = (tmp_path / "new" / "cases.csv").read_text().splitlines()
    assert lines[0] == "run,data,model,loss,weight,seed,decision,case,class,metric,value" == ",".join(COLUMNS)
    assert lines[1] == f"r1,kvasir,fpn,RCE,1.0,0,argmax,found,1,dsc,{2 * 3 / 9!r}"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["cases.csv"]


def test_tables_of_earlier_versions_read_as_argmax_and_join_with_later_ones(tmp_path):
    """They have no column for the decision; the numbers stay as they are, to the last digit."""
    of = RunColumns("r1", "kvasir", "fpn", "RCE", "1.0", "0", "argmax")
    rows = list(score_rows(scores(), of=of))
    old, new, joined = (tmp_path / name for name in ("old.csv", "new.csv", "joined.csv"))
    write_cases(new, rows)
    old.write_text(new.read_text().replace(",decision,", ",").replace(",0,argmax,", ",0,"))
    assert "argmax" not in old.read_text()
    assert read_cases(old) == rows
    join_cases(joined, [old, new])
    assert read_cases(joined) == rows + rows
    assert joined.read_text() == new.read_text() + new.read_text().partition("\n")[2]


def test_pooled_rows_come_from_summed_counts():
    pooled = {(row.class_id, row.metric): row.value for row in score_rows(scores()) if row.case == "all"}
    assert pooled == {
        (1, "dsc_pooled"): 2 * 3 / (4 + 10),
        (1, "iou_pooled"): 3 / (4 + 10 - 3),
        (2, "dsc_pooled"): 0,
        (2, "iou_pooled"): 0,
    }


def test_summary_counts_what_has_no_value():
    first, second = summarise(score_rows(scores()))
    assert (first.cases, first.true_negatives, first.missed, first.false_alarms) == (3, 1, 1, 0)
    assert (second.cases, second.true_negatives, second.missed, second.false_alarms) == (3, 2, 0, 1)
    assert first.means["dsc"] == (6 / 9 + 0) / 2  # the true negative enters no mean
    assert first.means["size_error"] == pytest.approx((-0.01 - 0.05 + 0) / 3)
    assert second.means["relative_size_error"] is None
    assert first.pooled == {"dsc_pooled": 6 / 14, "iou_pooled": 3 / 11}


def test_summary_keeps_runs_apart():
    runs = [RunColumns(run="a"), RunColumns(run="b")]
    rows = [Row(of, "x", 1, "dsc", value) for of, value in zip(runs, (0.25, 0.75), strict=True)]
    assert [(one.of.run, one.means["dsc"]) for one in summarise(rows)] == [("a", 0.25), ("b", 0.75)]


def test_the_scores_do_not_depend_on_what_is_scored_with_them():
    """The rows of a case are the same alone and among others, but for thirds of the data set's components."""
    rng = np.random.default_rng(0)
    maps = {name: rng.integers(0, 3, (2, 20, 20)) for name in "abc"}
    results = {
        name: score_case(*pair, classes=[1, 2], spacing=(1, 1), nsd_tolerance=1.0) for name, pair in maps.items()
    }

    def rows(results):
        return [row for row in score_rows(results) if row.case == "b" and not METRICS[row.metric].third]

    assert rows(results) == rows({"b": results["b"]})


def test_a_failed_write_leaves_the_old_table(tmp_path):
    path = tmp_path / "cases.csv"
    rows = list(score_rows(scores()))
    write_cases(path, rows)

    def breaks_off():
        yield rows[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_cases(path, breaks_off())
    assert read_cases(path) == rows
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wanted the columns run,data"),
        ("a,b\n1,2\n", "got a,b"),
        (",".join(COLUMNS) + "\n,,,,,,,x,one,dsc,0.5\n", "line 2: wanted 11 cells"),
        (",".join(COLUMNS) + "\n,,,,,,,x,1,dsc\n", "line 2: wanted 11 cells"),
        (",".join(COLUMNS) + "\n,,,,,,,x,1,dsc,high\n", "line 2"),
    ],
)
def test_reading_something_else_names_file_and_line(tmp_path, text, message):
    path = tmp_path / "cases.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=message) as error:
        read_cases(path)
    assert str(path) in str(error.value)


def test_the_table_of_a_run_is_not_overwritten(tmp_path):
    path = tmp_path / "cases.csv"
    check_writable(path)
    write_cases(path, score_rows(scores()))
    check_writable(path)
    write_cases(path, score_rows(scores(), of=RunColumns(run="r1")))
    with pytest.raises(BadInput, match="scores of a training run"):
        check_writable(path)
    with pytest.raises(BadInput, match="cannot write"):
        check_writable(path / "cases.csv")  # its folder is a file
