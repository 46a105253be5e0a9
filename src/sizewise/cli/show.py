"""Tables and next steps on the screen."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; in a pipe it is plain text of its natural width, so that nothing is cut."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))  # plain: names may look like markup
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)


def show_findings_of(report: Path) -> None:
    """Print the verdict and the tables of scores of a report.md."""
    lines = report.read_text(encoding="utf-8").splitlines()
    wanted = {"## Verdict", "## Scores"}
    shown: list[str] = []
    within = False
    for line in lines:
        if line.startswith(("## ", "### Each loss", "### Each model", "### Ranking", "### Training cost")):
            within = line in wanted
        if within:
            shown.append(line.replace("<ins>", "").replace("</ins>", ""))
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(Markdown("\n".join(shown)))


def show_next(*commands: str) -> None:
    """Say what to run next."""
    print("Next: " + "\n      ".join(commands))
