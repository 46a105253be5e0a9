"""A table of the report, and its four forms: for the page, Markdown, LaTeX and CSV."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sizewise.outside_names import written_cell

Rank = Literal["", "best", "second"]


@dataclass(frozen=True)
class Cell:
    """One arm.

    Attributes:
        text: as it is read.
        value: what the page sorts by; None sorts last.
        rank: the best of its column is bold, the second is underlined.
    """

    text: str
    value: float | str | None = None
    rank: Rank = ""

    @property
    def key(self) -> float | str:
        """What the page sorts by: the value, else the text."""
        return self.text if self.value is None else self.value


@dataclass(frozen=True)
class Table:
    """A titled table.

    Attributes:
        name: of its files.
        title: above it.
        columns: of the head.
        rows: cells, as many per row as there are columns.
        note: how to read it.
        heads: how many columns at the left are names, not numbers.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    heads: int = 1


def ranked(values: Sequence[float | None], *, higher: bool = True, digits: int = 9) -> list[Rank]:
    """Which value is best and which second; equals share a rank. With fewer than two values nothing is marked.

    >>> ranked([0.5, 0.7, None, 0.7, 0.6])
    ['', 'best', '', 'best', 'second']
    """
    rounded = [None if value is None else round(value, digits) for value in values]
    levels = sorted({value for value in rounded if value is not None}, reverse=higher)
    if len([value for value in rounded if value is not None]) < 2 or len(levels) < 2:
        return ["" for _ in values]
    marks: dict[float, Rank] = {levels[0]: "best", levels[1]: "second"}
    return ["" if value is None else marks.get(value, "") for value in rounded]


def to_markdown(table: Table) -> str:
    r"""A pipe table. Names cannot break out of their cell or become markup.

    >>> print(to_markdown(Table("t", "T", ["loss", "DSC"], [[Cell("a|b"), Cell("0.9", 0.9, "best")]])))
    | loss | DSC |
    |---|---:|
    | a\|b | **0.9** |
    """
    lines = ["| " + " | ".join(map(markdown_text, table.columns)) + " |"]
    lines.append("|" + "".join("---|" if at < table.heads else "---:|" for at in range(len(table.columns))))
    form = {"": "{}", "best": "**{}**", "second": "<ins>{}</ins>"}  # GitHub drops <u>
    for row in table.rows:
        lines.append("| " + " | ".join(form[cell.rank].format(markdown_text(cell.text)) for cell in row) + " |")
    return "\n".join(lines)


def to_latex(table: Table) -> str:
    r"""A booktabs table, ready to paste; needs ``\usepackage{booktabs}``.

    >>> print(to_latex(Table("t", "T_1", ["loss", "DSC"], [[Cell("A_B"), Cell("0.9 ± 0.1", 0.9, "second")]])))
    % needs \usepackage{booktabs}
    \begin{table}[htb]
      \centering
      \caption{T\_1}
      \label{tab:t}
      \begin{tabular}{@{}lr@{}}
        \toprule
        loss & DSC \\
        \midrule
        A\_B & \underline{0.9 $\pm$ 0.1} \\
        \bottomrule
      \end{tabular}
    \end{table}
    """
    form = {"": "{}", "best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}
    heads = "l" * table.heads + "r" * (len(table.columns) - table.heads)
    lines = [r"% needs \usepackage{booktabs}", r"\begin{table}[htb]", r"  \centering"]
    caption = latex_text(table.title + (f". {table.note}" if table.note else ""))
    lines += [rf"  \caption{{{caption}}}", rf"  \label{{tab:{re.sub(r'[^a-z0-9-]+', '-', table.name.lower())}}}"]
    lines += [rf"  \begin{{tabular}}{{@{{}}{heads}@{{}}}}", r"    \toprule"]
    lines += ["    " + " & ".join(map(latex_text, table.columns)) + r" \\", r"    \midrule"]
    for row in table.rows:
        words = " & ".join(form[cell.rank].format(latex_text(cell.text)) for cell in row)
        guard = "{}" if words.startswith(("[", "*")) else ""  # else the line break before would read it as its option
        lines.append("    " + guard + words + r" \\")
    return "\n".join([*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}"])


def to_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    r"""Comma-separated, for the numbers behind a table or figure.

    >>> to_csv(["loss", "dsc"], [["a,b", 0.5], ["c", None]])
    'loss,dsc\n"a,b",0.5\nc,\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Words that a spreadsheet would take for a formula get an apostrophe; numbers stay, those below 0 too."""
    if not isinstance(value, str):
        return value
    try:
        float(value)
    except ValueError:
        return written_cell(value)
    return value


def markdown_text(text: str) -> str:
    r"""Words of the user's, as Markdown that reads as those words.

    >>> markdown_text("<b> *x* `y` a|b")
    '&lt;b&gt; \\*x\\* \\`y\\` a\\|b'
    """
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~!$])", r"\\\1", text)


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "|": r"\textbar{}",  # TeX's old font encoding has dashes in the places of | < >
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "−": r"$-$",
    "–": "--",
    "…": r"\ldots{}",
    "λ": r"$\lambda$",
    "τ": r"$\tau$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    "Δ": r"$\Delta$",
    "✓": r"$\surd$",
    "✗": r"$\times$",
}


def latex_text(text: str) -> str:
    r"""Words of the user's, as LaTeX that prints those words.

    >>> latex_text("50% of a_b \\input{x}")
    '50\\% of a\\_b \\textbackslash{}input\\{x\\}'
    """
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))
