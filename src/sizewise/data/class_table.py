"""The table that says which mask value or colour is which class: ``classes.csv``."""

import os
from dataclasses import dataclass
from pathlib import Path

from sizewise.csv_files import read_rows, read_whole_number
from sizewise.errors import BadInput

FILE_NAMES = ("classes.csv", "class_dict.csv")  # the second is how CamVid and DeepGlobe are passed around
IGNORED_NAMES = ("ignore", "ignored", "void", "unlabeled", "unlabelled")
IGNORE_LABEL = 255

_VALUE_COLUMNS = ("value", "label", "id", "index", "class_id")
_COLOUR_COLUMNS = (("r", "g", "b"), ("red", "green", "blue"))


@dataclass(frozen=True)
class ClassTable:
    """Class names with the values or colours that masks use for them.

    Attributes:
        names: by class id; a row called ``background`` comes first, rows called ``void`` or ``ignore`` are left out.
        values: pairs of mask value and class id; empty when the file has no column of values.
        colours: pairs of colour, r·65536 + g·256 + b, and class id; empty when the file has no colours.
        ignore: 255 when the table has a row of pixels that count for nothing, else None.
    """

    names: tuple[str, ...]
    values: tuple[tuple[int, int], ...]
    colours: tuple[tuple[int, int], ...]
    ignore: int | None


def find_class_table(folder: Path) -> Path | None:
    """The folder's own ``classes.csv`` or ``class_dict.csv``, if it has one."""
    return next((folder / name for name in FILE_NAMES if os.path.lexists(folder / name)), None)


def read_class_table(path: Path) -> ClassTable:
    """Read a table with the columns ``name,value`` or ``name,r,g,b`` (or all five), one row per class.

    Two rows of one name are one class. Where values are given and none is 0, class ``background`` is added for 0.

    Raises:
        BadInput: the file is missing, has other columns, or names a value or colour twice.
    """
    rows, columns = _read_rows(path)
    value_column = next((name for name in _VALUE_COLUMNS if name in columns), None)
    colour_columns = next((names for names in _COLOUR_COLUMNS if set(names) <= set(columns)), None)
    if "name" not in columns or (value_column is None and colour_columns is None):
        raise BadInput(
            f"'{path}' must have the columns name,value or name,r,g,b, got {','.join(columns) or 'an empty file'}."
        )
    if not rows:
        raise BadInput(f"'{path}' names no class: it has a header and nothing below.")
    values = [_number(row[value_column], path, 65535) for row in rows] if value_column else []
    colours = [
        sum(_number(row[column], path, 255) << shift for column, shift in zip(colour_columns, (16, 8, 0), strict=True))
        for row in rows
    ] if colour_columns else []  # fmt: skip
    names = [row["name"] for row in rows]
    if values and 0 not in values and "background" not in (name.lower() for name in names):
        names, values = ["background", *names], [0, *values]
        colours = [0, *colours] if colours and 0 not in colours else colours
    return _numbered(names, values, colours, path)


def _read_rows(path: Path) -> tuple[list[dict[str, str]], list[str]]:
    lines = read_rows(path, what="a table of classes")
    if not lines:
        return [], []
    columns = [cell.lower() for cell in lines[0]]
    if len(set(columns)) < len(columns):
        raise BadInput(f"'{path}' has one column twice: {','.join(columns):.200}.")
    for line in lines[1:]:
        if len(line) < len(columns):
            raise BadInput(f"'{path}' has the columns {','.join(columns)}, but a row is {','.join(line)}.")
    return [dict(zip(columns, line, strict=False)) for line in lines[1:]], columns


def _number(text: str, path: Path, largest: int) -> int:
    number = read_whole_number(text, largest=largest)
    if number is None:
        raise BadInput(f"'{path}' must give whole numbers from 0 to {largest}, got '{text:.80}'.")
    return number


def _numbered(names: list[str], values: list[int], colours: list[int], path: Path) -> ClassTable:
    for what, listed in (("value", values), ("colour", colours)):
        if len(set(listed)) != len(listed):
            raise BadInput(f"'{path}' gives one {what} to two rows; each must be named once.")
    kept = [name for name in dict.fromkeys(names) if name.lower() not in IGNORED_NAMES]
    kept.sort(key=lambda name: name.lower() != "background")  # stable: only the background moves
    if not 2 <= len(kept) <= IGNORE_LABEL:
        raise BadInput(f"'{path}' must name 2 to {IGNORE_LABEL} classes, background included, got {len(kept)}.")
    labels = [kept.index(name) if name in kept else IGNORE_LABEL for name in names]
    return ClassTable(
        names=tuple(kept),
        values=tuple(zip(values, labels, strict=True)) if values else (),
        colours=tuple(zip(colours, labels[-len(colours) :], strict=True)) if colours else (),
        ignore=IGNORE_LABEL if IGNORE_LABEL in labels else None,
    )
