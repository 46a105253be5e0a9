"""Tables, verdicts and next steps on the screen."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from sizewise.report.page import Page

PIPE_COLUMNS = 200  # so that few tables come in parts there
STYLES = {"": "", "best": "bold", "second": "underline"}


def show_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    heads: int | None = None,
    drawn: Sequence[str] = (),
) -> None:
    """Print a table; in a pipe it is plain text, as on a screen of 200 columns.

    Numbers are never broken: columns that do not fit beside the others follow below, with the names again; names that
    leave no room for a number take several lines.

    Args:
        title: above it.
        columns: of the head.
        rows: what is not a ``Text`` is printed as it is: names may look like markup.
        heads: columns at the left that are names; those after them are numbers, aligned to the right. None: all.
        drawn: of those after them, columns that are drawn with letters: spaces at their ends count.
    """
    console = _console()
    cells = [[cell if isinstance(cell, Text) else Text(str(cell)) for cell in row] for row in rows]
    whole = _table(title, columns, cells, heads, drawn)
    natural = console.measure(whole, options=console.options.update_width(10**4)).maximum
    if heads is None or heads >= len(columns) or natural <= console.width:
        console.print(whole)
        return
    widths = _with_room(_narrow(columns, cells), heads, console.width)
    for number, block in enumerate(_blocks(widths, heads, console.width)):
        part = [[row[at] for at in block] for row in cells]
        heading = title if number == 0 else None
        names = [columns[at] for at in block]
        console.print(_table(heading, names, part, heads, drawn, [widths[at] for at in block]))


def _table(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[Text]],
    heads: int | None,
    drawn: Sequence[str],
    widths: Sequence[int] = (),
) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for at, column in enumerate(columns):
        left = heads is None or at < heads or column in drawn
        justify: Literal["left", "right"] = "left" if left else "right"
        table.add_column(column, overflow="fold", justify=justify, width=widths[at] if widths else None)
    for row in rows:
        table.add_row(*row)
    return table


def _narrow(columns: Sequence[str], rows: Sequence[Sequence[Text]]) -> list[int]:
    """The width of each column where its head is broken between words and nothing else is."""
    heads = (max((cell_len(word) for word in column.split()), default=0) for column in columns)
    return [max(head, *(row[at].cell_len for row in rows), 1) for at, head in enumerate(heads)]


def _with_room(widths: Sequence[int], heads: int, most: int) -> list[int]:
    """The widths with names so narrow that each number fits beside them: a column without room would not be printed.

    >>> _with_room([30, 10, 6], heads=2, most=40)  # 1 + (17 + 2) + (10 + 2) + (6 + 2) = 40
    [17, 10, 6]
    """
    names, numbers = list(widths[:heads]), list(widths[heads:])
    room = most - 1 - 2 * heads - max(numbers) - 2
    while sum(names) > max(room, heads):
        names[names.index(max(names))] -= 1
    return names + numbers


def _blocks(widths: Sequence[int], heads: int, most: int) -> list[list[int]]:
    """The columns of each part of a table that is at most so wide; each begins with the names.

    >>> _blocks([10, 6, 6, 6], heads=1, most=32)  # 1 + (10 + 2) + 2 · (6 + 2) = 29
    [[0, 1, 2], [0, 3]]
    """
    names, room = list(range(heads)), most - 1 - sum(widths[:heads]) - 2 * heads
    blocks: list[list[int]] = []
    left = -1
    for at in range(heads, len(widths)):
        if not blocks or widths[at] + 2 > left:
            blocks.append([*names])
            left = room
        blocks[-1].append(at)
        left -= widths[at] + 2
    return blocks


def show_page(page: "Page") -> None:
    """Print the verdict and the tables of scores of a report."""
    console = _console()
    console.print(Text("Verdict", style="bold"))
    for group in page.verdict:
        for text, style in ((group.title, "underline"), (group.lead, "bold")):
            if text:
                console.print(Text(text, style=style))
        bullets = Table.grid(padding=(0, 1))
        for sentence in (*group.claims, *group.sentences):
            bullets.add_row(" •", Text(sentence))
        console.print(bullets)
    for alert in page.alerts:
        console.print(Text(alert, style="yellow"))
    for table in page.score_tables:
        rows = [[Text(cell.text, style=STYLES[cell.rank]) for cell in row] for row in table.rows]
        show_table(table.title, table.columns, rows, heads=table.heads)
        console.print(Text(table.note))


def show_sentences(text: str) -> None:
    """Print words, broken between words at the edge of the screen; in a pipe a line stays whole."""
    console = _console()
    console.print(Text(text), soft_wrap=not console.is_terminal)


def show_next(*commands: str) -> None:
    """Say what to run next."""
    print("Next: " + "\n      ".join(commands))


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_COLUMNS)
