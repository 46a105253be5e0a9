"""What the screen says of a study: time left from the epochs so far, and the runs that matter now."""

import io
import json
import sys
from types import SimpleNamespace

import pytest
from pieces import Pieces
from rich.console import Console

from sizewise.study.screen import MOST_ROWS, Screen

EPOCHS = 10


def run(folder, name, *, epochs=0, finished=False, error=""):
    """A run folder as training leaves it after so many epochs of two seconds each."""
    place = folder / "runs" / name
    place.mkdir(parents=True, exist_ok=True)
    if epochs:
        (place / "config.json").write_text("{}")
        rows = "".join(f"{epoch},2.0\n" for epoch in range(1, epochs + 1))
        (place / "history.csv").write_text("epoch,seconds\n" + rows)
    if finished:
        (place / "cases.csv").write_text("")
    if error:
        (place / "failed.json").write_text(json.dumps({"error": error}))


def planned(*names, decisions=("argmax",)):
    return [SimpleNamespace(name=name, config=SimpleNamespace(epochs=EPOCHS), decisions=decisions) for name in names]


@pytest.fixture
def screen(tmp_path):
    run(tmp_path, "old", epochs=10, finished=True)
    run(tmp_path, "a", epochs=4)  # was begun by a call that was killed
    screen = Screen(tmp_path, planned("old", "a", "b", "c"))
    screen.started -= 60  # a minute ago
    return screen


def test_time_left_is_known_before_the_first_run_ends(screen, tmp_path):
    assert screen.time_left(screen.states()) == "unknown time"
    run(tmp_path, "a", epochs=10)
    # 6 epochs in 60 s; 10 + 10 are left in b and c: 200 s
    assert screen.time_left(screen.states()) == "3:20"
    run(tmp_path, "c", error="no memory")  # nothing more of this one
    assert screen.time_left(screen.states()) == "1:40"


def test_nothing_is_left_at_the_end(screen, tmp_path):
    for name in ("a", "b", "c"):
        run(tmp_path, name, epochs=10, finished=True)
    assert screen.time_left(screen.states()) == "0:00"


def test_runs_that_lack_only_decisions(tmp_path, capsys):
    """They are trained, so their time is told from how many were decided, not from epochs."""
    from sizewise.metrics.cases_csv import Row, RunColumns, write_cases

    for name in "ab":
        run(tmp_path, name, epochs=10)
        write_cases(tmp_path / "runs" / name / "cases.csv", [Row(RunColumns(decision="argmax"), "c", 1, "dsc", 0.5)])
    screen = Screen(tmp_path, planned("a", "b", decisions=("argmax", "dice")))
    with screen:
        assert "2 runs, 0 of them finished before, 2 to be decided without training" in capsys.readouterr().out
        screen.started -= 60
        rows = [Row(RunColumns(decision=one), "c", 1, "dsc", 0.5) for one in ("argmax", "dice")]
        write_cases(tmp_path / "runs" / "a" / "cases.csv", rows)
        screen.after_run(screen.runs[0])
        assert "[1/2] a decided; 1:00 left" in capsys.readouterr().out


def test_two_runs_that_end_together_have_a_line_each(screen, tmp_path, monkeypatch):
    """Of ten runs on a GPU two had stood in one line."""
    for name in ("a", "b"):
        run(tmp_path, name, epochs=10, finished=True)
    monkeypatch.setattr(sys, "stdout", Pieces())
    for ended in screen.runs[1:3]:
        screen.after_run(ended)
    first, second = sys.stdout.written
    assert first.startswith("[3/4] a finished in 20 s; ")
    assert second.startswith("[3/4] b finished in 20 s; ")
    assert first.endswith(" left\n")
    assert second.endswith(" left\n")


def test_the_table_shows_what_is_at_work_first(screen, tmp_path):
    many = [f"run_{number:02d}" for number in range(30)]
    for number, name in enumerate(many):
        run(tmp_path, name, epochs=10 if number != 3 else 5, finished=number not in (3, 29))
    run(tmp_path, "run_29", error="[bold]no memory[/bold] on the device")
    screen = Screen(tmp_path, planned(*many))
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(screen._table(screen.states()))
    text = console.export_text()
    rows = [line for line in text.splitlines() if "run_" in line]
    assert len(rows) == MOST_ROWS
    assert "run_03" in rows[0]  # among 28 that are done
    assert "5/10" in rows[0]
    assert "run_29" in rows[1]
    assert "failed: [bold]no memory" in rows[1]
    assert "28/30 finished, 1 failed" in text


def test_a_live_table_has_the_terminal_to_itself(screen, monkeypatch, capfd):
    """A bar of the training moves the cursor as the table does: the two would write over each other."""
    from sizewise.progress import track

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with screen:
        assert list(track(range(3), what="A bar")) == [0, 1, 2]
    assert "A bar" not in capfd.readouterr().err
    assert list(track(range(3), what="A bar")) == [0, 1, 2]
    assert "A bar" in capfd.readouterr().err  # bars come back
