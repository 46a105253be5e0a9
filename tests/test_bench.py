"""The benchmark runs, and its rows say where they come from."""

import csv

from sizewise.bench import run_benchmark


def test_rows_and_file(tmp_path, capsys):
    out = tmp_path / "rows.csv"
    rows = run_benchmark("cpu", shapes=[(1, 3, 16, 16)], losses=("RCE",), repeats=2, memory=False, out=out)
    assert {"sizewise", "torch"} <= {row["library"] for row in rows}
    assert all(row["median_ms"] > 0 and row["torch"] for row in rows)
    with out.open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    assert "1 × 3 × 16 × 16" in capsys.readouterr().out
