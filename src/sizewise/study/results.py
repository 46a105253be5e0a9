"""Read the long table of a study column by column: half a million scores in seconds."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sizewise.errors import BadInput
from sizewise.metrics.table import COLUMNS, Row

TEXT_COLUMNS = tuple(name for name in COLUMNS if name not in ("class", "value"))


@dataclass(frozen=True)
class Column:
    """A column of words, each word stored once.

    Attributes:
        words: the different words, in order of their first appearance.
        codes: (R,) the position of each row's word in ``words``.
    """

    words: tuple[str, ...]
    codes: np.ndarray

    def rows_with(self, word: str) -> np.ndarray:
        """(R,) whether each row has this word."""
        if word not in self.words:
            return np.zeros(len(self.codes), dtype=bool)
        return self.codes == self.words.index(word)


@dataclass(frozen=True)
class Results:
    """The scores of many runs.

    Attributes:
        text: by name, the columns run, data, model, loss, weight, seed, case and metric.
        class_id: (R,) the label of each row.
        value: (R,) the score; NaN where the cell is empty.
    """

    text: dict[str, Column]
    class_id: np.ndarray
    value: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    def settings(self) -> list[tuple[str, str]]:
        """The pairs of data set and model, in order of appearance."""
        data, model = self.text["data"], self.text["model"]
        pairs = data.codes.astype(np.int64) * max(len(model.words), 1) + model.codes
        _, first = np.unique(pairs, return_index=True)
        return [(data.words[data.codes[row]], model.words[model.codes[row]]) for row in np.sort(first)]


def read_results(*paths: Path) -> Results:
    """Read ``cases.csv`` or ``results.csv`` files into one table.

    Args:
        paths: files in the long form; their rows are joined.

    Raises:
        BadInput: a file cannot be read or is not in this form; the sentence names the file and the line.
    """
    cells: list[list[str]] = []
    for path in paths:
        cells += _read_cells(path)
    return _columns(cells)


def results_of(rows: Iterable[Row]) -> Results:
    """The same table from rows that are in memory.

    >>> from sizewise.metrics.table import RunColumns
    >>> table = results_of([Row(RunColumns(data="kvasir", model="fpn", loss="RCE"), "a", 1, "dsc", None)])
    >>> table.settings(), table.text["loss"].words, table.value.tolist()
    ([('kvasir', 'fpn')], ('RCE',), [nan])
    """
    return _columns([list(row.cells()) for row in rows])


def _read_cells(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            header = tuple(next(lines, ()))
            if header != COLUMNS:
                raise BadInput(
                    f"'{path}': wanted the columns {','.join(COLUMNS)}, got {','.join(header) or 'nothing'}."
                )
            cells = list(lines)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"cannot read '{path}': {error}.") from error
    _check(path, cells)
    return cells


def _check(path: Path, cells: Sequence[list[str]]) -> None:
    """Fast over good files; looks for the line only when something is wrong."""
    try:
        if set(map(len, cells)) <= {len(COLUMNS)}:
            _numbers(cells)
            return
    except ValueError:
        pass
    for index, row in enumerate(cells):
        try:
            if len(row) == len(COLUMNS):
                _numbers([row])
                continue
        except ValueError:
            pass
        raise BadInput(
            f"'{path}', row {index + 1} after the header: wanted {len(COLUMNS)} cells with an integer class and a "
            f"value that is a finite number or nothing, got {','.join(row)!r}."
        )


def _numbers(cells: Sequence[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    class_id = np.fromiter((int(row[-3]) for row in cells), dtype=np.int64, count=len(cells))
    value = np.fromiter((float(row[-1] or "nan") for row in cells), dtype=np.float64, count=len(cells))
    given = np.fromiter((bool(row[-1]) for row in cells), dtype=bool, count=len(cells))
    if not np.isfinite(value[given]).all():
        raise ValueError("a value is not finite")
    return class_id, value


def _columns(cells: Sequence[list[str]]) -> Results:
    text = {}
    for name in TEXT_COLUMNS:
        position = COLUMNS.index(name)
        words: dict[str, int] = {}
        codes = np.fromiter(
            (words.setdefault(row[position], len(words)) for row in cells), dtype=np.int64, count=len(cells)
        )
        text[name] = Column(tuple(words), codes)
    class_id, value = _numbers(cells)
    return Results(text, class_id, value)
