"""Tables on narrow screens: numbers stay whole, and columns that do not fit follow below."""

import io

import pytest
from rich.console import Console

from sizewise.cli import show

COLUMNS = ["arm", "DSC (%)", "component precision (%)", "HD95 (pixels)"]
ROWS = [["DiceCE (dice)", "18.28 ± 5.94", "59.09 ± 19.86", "97.96 ± 16.02"], ["CE", "1.00 ± 0.10", "2", "–"]]


@pytest.fixture
def printed(monkeypatch):
    def lines(width, **given):
        file = io.StringIO()
        monkeypatch.setattr(show, "_console", lambda: Console(file=file, width=width, force_terminal=False))
        show.show_table("Scores", COLUMNS, ROWS, **given)
        return [line.rstrip() for line in file.getvalue().splitlines() if line.strip()]

    return lines


def test_a_wide_screen_has_one_table(printed):
    lines = printed(100, heads=1)
    assert [line for line in lines if "arm" in line] == [
        " arm                 DSC (%)  component precision (%)  HD95 (pixels)"
    ]


def test_heads_break_between_words_and_numbers_never(printed):
    lines = printed(64, heads=1)
    assert "component" in lines[1]
    assert "precision (%)" in lines[2]
    assert " DiceCE (dice)  18.28 ± 5.94  59.09 ± 19.86  97.96 ± 16.02" in lines
    assert max(map(len, lines)) <= 64


def test_what_does_not_fit_follows_below_with_the_names_again(printed):
    lines = printed(46, heads=1)
    assert lines[0] == "Scores"
    assert [line for line in lines if "DiceCE" in line] == [
        " DiceCE (dice)  18.28 ± 5.94  59.09 ± 19.86",
        " DiceCE (dice)  97.96 ± 16.02",
    ]
    assert max(map(len, lines)) <= 46


def test_sentences_break_between_words_on_a_screen_alone(monkeypatch):
    for terminal, wanted in ((True, ["one two", "three"]), (False, ["one two three"])):
        file = io.StringIO()
        console = Console(file=file, width=9, force_terminal=terminal, color_system=None)
        monkeypatch.setattr(show, "_console", lambda console=console: console)
        show.show_sentences("one two three")
        assert [line.rstrip() for line in file.getvalue().splitlines()] == wanted
