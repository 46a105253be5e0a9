"""Tables and next steps on the screen."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; in a pipe it is plain text of its natural width, so that nothing is cut."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    console = Console()
    console.print(table, width=None if console.is_terminal else 200, soft_wrap=False, markup=False)


def show_next(*commands: str) -> None:
    """Say what to run next."""
    print("Next: " + "\n      ".join(commands))
