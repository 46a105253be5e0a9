"""Docstrings as the site wants them: examples and literal blocks in fences, tables and roles in Markdown."""

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:func|class|meth|mod|attr):`~?([^`]+)`")
STAR = re.compile(r"(?<![*\\])\*(?=S\b)")
RULE = re.compile(r"^=+(?: +=+)+$")


class MarkdownDocstrings(griffe.Extension):
    """Rewrites what plain Markdown would misread."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    r"""The same text in Markdown.

    >>> print(to_markdown("Adds.\n\n>>> 1 + 1\n2"))
    Adds.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    text = ROLE.sub(lambda found: f"`{found[1].rpartition('.')[2]}`", text)
    lines = fenced_literals(fenced_examples(markdown_tables(text.splitlines())))
    return "\n".join(escaped_stars(lines))


def fenced_examples(lines: list[str]) -> list[str]:
    """An example runs from >>> to the next empty line."""
    made: list[str] = []
    inside = ""
    for line in [*lines, ""]:
        stripped = line.lstrip()
        indent = line[: len(line) - len(stripped)]
        if not inside and stripped.startswith(">>>"):
            if made and made[-1].strip():
                made.append("")
            made.append(f"{indent}```pycon")
            inside = indent + "```"
        elif inside and not stripped:
            made.append(inside)
            inside = ""
        made.append(line)
    return made[:-1]


def fenced_literals(lines: list[str]) -> list[str]:
    """What is indented below a line that ends with two colons is shown as it stands."""
    made: list[str] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if not line.endswith("::"):
            made.append(line)
            continue
        margin = len(line) - len(line.lstrip())
        block: list[str] = []
        while place < len(lines) and (not lines[place].strip() or _indent(lines[place]) > margin):
            block.append(lines[place])
            place += 1
        if not any(one.strip() for one in block):
            made += [line, *block]
            continue
        shown = "\n".join(block).strip("\n").splitlines()
        least = min(_indent(one) for one in shown if one.strip())
        pad = " " * margin
        fence = [f"{pad}```text", *(pad + one[least:] for one in shown), f"{pad}```"]
        made += [line[:-1], "", *fence, ""]
    return made


def escaped_stars(lines: list[str]) -> list[str]:
    """The star of a shape (N, *S) opens no emphasis; in code it stays as it is."""
    made: list[str] = []
    in_fence = False
    for line in lines:
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        if in_fence:
            made.append(line)
            continue
        parts = re.split("(`+[^`]*`+)", line)
        made.append("".join(part if part.startswith("`") else STAR.sub(r"\\*", part) for part in parts))
    return made


def markdown_tables(lines: list[str]) -> list[str]:
    """A table ruled with equals signs, whose columns begin where the signs do."""
    made: list[str] = []
    rules = [number for number, line in enumerate(lines) if RULE.match(line.strip())]
    tables = list(zip(rules[::3], rules[1::3], rules[2::3], strict=False))
    place = 0
    for top, middle, bottom in tables:
        made += lines[place:top]
        starts = [found.start() for found in re.finditer("=+", lines[top])]
        pad = " " * _indent(lines[top])
        made.append(pad + _row(lines[top + 1], starts))
        made.append(pad + "|" + "---|" * len(starts))
        made += [pad + _row(line, starts) for line in lines[middle + 1 : bottom]]
        place = bottom + 1
    return made + lines[place:]


def _row(line: str, starts: list[int]) -> str:
    ends = [*starts[1:], None]
    cells = (line[start:end].strip().replace("|", "\\|") for start, end in zip(starts, ends, strict=True))
    return "| " + " | ".join(cells) + " |"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
