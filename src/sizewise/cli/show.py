"""Tables, verdicts and next steps on the screen."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from sizewise.report.page import Page

PIPE_COLUMNS = 200  # in a pipe nothing is cut
STYLES = {"": "", "best": "bold", "second": "underline"}


def show_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, heads: int | None = None
) -> None:
    """Print a table; in a pipe it is plain text of its natural width, so that nothing is cut.

    Args:
        title: above it.
        columns: of the head.
        rows: what is not a ``Text`` is printed as it is: names may look like markup.
        heads: columns at the left that are names; those after them are numbers, aligned to the right. None: all.
    """
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for at, column in enumerate(columns):
        table.add_column(column, overflow="fold", justify="left" if heads is None or at < heads else "right")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    _console().print(table)


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


def show_next(*commands: str) -> None:
    """Say what to run next."""
    print("Next: " + "\n      ".join(commands))


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_COLUMNS)
