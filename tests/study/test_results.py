"""The columnar reader: the same rows as read_cases, and sentences for what is not in that form."""

import numpy as np
import pytest

from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import COLUMNS, Row, RunColumns, read_cases, write_cases
from sizewise.study.results import read_results, results_of

HEADER = ",".join(COLUMNS) + "\n"


def rows():
    of = [
        RunColumns(f"r{s}", "kvasir", "fpn", loss, "1.0", str(s), "argmax") for loss in ("CE", "RCE") for s in range(2)
    ]
    return [Row(run, case, k, "dsc", v) for run in of for case in ('a, "b"', "ü") for k, v in ((1, 1 / 3), (2, None))]


def test_the_columns_hold_what_read_cases_reads(tmp_path):
    write_cases(tmp_path / "cases.csv", rows())
    table = read_results(tmp_path / "cases.csv")
    for name, cell in (("run", 0), ("data", 1), ("loss", 3), ("seed", 5), ("decision", 6), ("case", 7), ("metric", 9)):
        column = table.text[name]
        assert [column.words[code] for code in column.codes] == [
            row.cells()[cell] for row in read_cases(tmp_path / "cases.csv")
        ]
    assert table.class_id.tolist() == [1, 2] * 8
    assert np.array_equal(table.value, [1 / 3, np.nan] * 8, equal_nan=True)


def test_files_are_joined(tmp_path):
    write_cases(tmp_path / "a.csv", rows()[:3])
    write_cases(tmp_path / "b.csv", rows()[3:])
    joined, whole = read_results(tmp_path / "a.csv", tmp_path / "b.csv"), results_of(rows())
    assert np.array_equal(joined.value, whole.value, equal_nan=True)
    assert joined.text["case"].words == whole.text["case"].words == ('a, "b"', "ü")
    assert joined.text["case"].codes.tolist() == whole.text["case"].codes.tolist()


def test_more_rows_than_one_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr("sizewise.study.results._CHUNK", 3)
    table = results_of(rows())
    assert len(table) == 16
    assert [table.text["loss"].words[code] for code in table.text["loss"].codes] == ["CE"] * 8 + ["RCE"] * 8
    bad = tmp_path / "bad.csv"
    bad.write_text(HEADER + "r,d,m,CE,1,0,argmax,a,1,dsc,0.5\n" * 4 + "r,d,m,CE,1,0,argmax,a,one,dsc,0.5\n")
    with pytest.raises(BadInput, match="row 5 after the header"):
        read_results(bad)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "got nothing"),
        ("case,dsc\n", "wanted the columns run,data"),
        (HEADER + "r,d,m,CE,1,0,argmax,a,1,dsc\n", "row 1 after the header: wanted 11 cells"),
        (
            HEADER + "r,d,m,CE,1,0,argmax,a,1,dsc,0.5\nr,d,m,CE,1,0,argmax,a,1,dsc,good\n",
            "row 2 after the header.*'r,d,m,CE,1,0,argmax,a,1,dsc,good'",
        ),
        (HEADER + "r,d,m,CE,1,0,argmax,a,1.5,dsc,0.5\n", "integer class"),
        (HEADER + "r,d,m,CE,1,0,argmax,a,1,dsc,nan\n", "a finite number or nothing"),
        (HEADER + "r,d,m,CE,1,0,argmax,a,1,dsc,inf\n", "a finite number or nothing"),
        (HEADER + f"r,d,m,CE,1,0,argmax,a,{10**30},dsc,1\n", "integer class"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "results.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=sentence):
        read_results(path)


def test_no_file_and_no_rows(tmp_path):
    with pytest.raises(BadInput, match="cannot read"):
        read_results(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text(HEADER)
    empty = read_results(tmp_path / "empty.csv")
    assert len(empty) == 0
