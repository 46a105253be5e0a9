"""Progress in a pipe: a line now and then, not silence and not a bar."""

import sys

from pieces import Pieces

from sizewise.progress import NO_BARS, is_first_process, print_at_once, track, with_lines


def test_a_line_is_written_with_its_end(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Pieces())
    print_at_once("[3/10] a run finished")
    assert sys.stdout.written == ["[3/10] a run finished\n"]


def test_a_line_comes_every_twenty_seconds_with_the_time_left(capsys):
    times = iter([0.0, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0])
    assert list(with_lines(range(6), what="scoring", total=6, timer=lambda: next(times))) == list(range(6))
    assert capsys.readouterr().err.splitlines() == [
        "scoring: 2 of 6, 0:40 left",  # two in 20 seconds, four to come
        "scoring: 4 of 6, 0:20 left",
    ]


def test_without_a_total_it_only_counts(capsys):
    times = iter([0.0, 0.0, 25.0])
    list(with_lines(iter("ab"), what="reading", total=None, timer=lambda: next(times)))
    assert capsys.readouterr().err == "reading: 1\n"


def test_only_who_should_speak_does(capsys, monkeypatch):
    monkeypatch.setattr("sizewise.progress.LINE_SECONDS", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    list(track([1, 2], what="cases"))
    assert "cases: 1 of 2" in capsys.readouterr().err
    for name in (NO_BARS, "RANK"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            list(track([1, 2], what="cases"))
        assert capsys.readouterr().err == ""
    monkeypatch.setenv("RANK", "major")  # of another program
    assert is_first_process()
