"""Tables on narrow screens: numbers stay whole, and columns that do not fit follow below."""

import io

import pytest
from rich.console import Console

from sizewise.cli import show

COLUMNS = ["arm", "DSC (%)", "component precision (%)", "HD95 (pixels)"]
ROWS = [["DiceCE (dice)", "18.28 ± 5.94", "59.09 ± 19.86", "97.96 ± 16.02"], ["CE", "1.00 ± 0.10", "2", "–"]]


@pytest.fixture
def printed(monkeypatch):
    def lines(width, names=("DiceCE (dice)", "CE"), **given):
        file = io.StringIO()
        monkeypatch.setattr(show, "_console", lambda: Console(file=file, width=width, force_terminal=False))
        show.show_table("Scores", COLUMNS, [[name, *row[1:]] for name, row in zip(names, ROWS, strict=True)], **given)
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


@pytest.mark.parametrize("width", [30, 46])
def test_names_that_leave_no_room_take_several_lines(printed, width):
    """A column that had no room beside a long name was not printed at all."""
    lines = printed(width, heads=1, names=["CE + 0.5 * Tversky(alpha=0.3, beta=0.7) (dice)", "CE"])
    for number in (cell for row in ROWS for cell in row[1:]):
        assert any(number in line for line in lines), number
    assert sum("Tversky" in line for line in lines) > 1
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [20, 60])
def test_what_is_drawn_keeps_its_spaces(monkeypatch, width):
    file = io.StringIO()
    monkeypatch.setattr(show, "_console", lambda: Console(file=file, width=width, force_terminal=False))
    show.show_table("Sizes", ["class", "mean", "drawn"], [["a", "4.01 %", "  ▆▃  "]], heads=1, drawn=["drawn"])
    head, row = (next(line for line in file.getvalue().splitlines() if word in line) for word in ("drawn", "▆▃"))
    assert row.index("▆") - head.index("drawn") == 2


def test_a_narrow_table_of_names_alone_is_printed(printed):
    lines = printed(60, heads=4)
    assert any("18.28 ±" in line for line in lines)


def test_sentences_break_between_words_on_a_screen_alone(monkeypatch):
    for terminal, wanted in ((True, ["one two", "three"]), (False, ["one two three"])):
        file = io.StringIO()
        console = Console(file=file, width=9, force_terminal=terminal, color_system=None)
        monkeypatch.setattr(show, "_console", lambda console=console: console)
        show.show_sentences("one two three")
        assert [line.rstrip() for line in file.getvalue().splitlines()] == wanted
