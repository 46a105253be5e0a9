"""Read the long table of a study column by column: half a million scores in seconds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import COLUMNS, Row, table_lines

TEXT_COLUMNS = tuple(name for name in COLUMNS if name not in ("class", "value"))
_CHUNK = 20_000


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
        text: by name, the columns of words: run, data, model, loss, weight, seed, decision, case and metric.
        class_id: (R,) the label of each row.
        value: (R,) the score; NaN where the cell is empty.
    """

    text: dict[str, Column]
    class_id: np.ndarray
    value: np.ndarray

    def __len__(self) -> int:
        return len(self.value)


def read_results(*paths: Path) -> Results:
    """Read ``cases.csv`` or ``results.csv`` files into one table.

    Args:
        paths: files in the long form; their rows are joined.

    Raises:
        BadInput: a file cannot be read or is not in this form; the sentence names the file and the row.
    """
    table = _Table()
    for path in paths:
        table.add((cells for _, cells in table_lines(path)), where=f"'{path}'")
    return table.results()


def results_of(rows: Iterable[Row]) -> Results:
    """The same table from rows that are in memory.

    >>> from sizewise.metrics.cases_csv import RunColumns
    >>> table = results_of([Row(RunColumns(data="kvasir", model="fpn", loss="RCE"), "a", 1, "dsc", None)])
    >>> table.text["loss"].words, table.value.tolist()
    (('RCE',), [nan])
    """
    table = _Table()
    table.add((list(row.cells()) for row in rows), where="the rows")
    return table.results()


class _Table:
    """Columns that grow by thousands of rows at a time, so that no row is kept as Python objects."""

    def __init__(self) -> None:
        self.words: dict[str, dict[str, int]] = {name: {} for name in TEXT_COLUMNS}
        self.codes: dict[str, list[np.ndarray]] = {name: [] for name in TEXT_COLUMNS}
        self.class_id: list[np.ndarray] = [np.empty(0, np.int64)]
        self.value: list[np.ndarray] = [np.empty(0)]

    def add(self, rows: Iterable[list[str]], *, where: str) -> None:
        rows, done = iter(rows), 0
        while chunk := list(islice(rows, _CHUNK)):
            self._add_chunk(chunk, where=where, done=done)
            done += len(chunk)

    def _add_chunk(self, chunk: Sequence[list[str]], *, where: str, done: int) -> None:
        try:
            columns = dict(zip(COLUMNS, _transposed(chunk), strict=True))
            class_id, value = _numbers(columns["class"], columns["value"])
        except (ValueError, OverflowError):
            _name_bad_row(chunk, where=where, done=done)
            raise
        self.class_id.append(class_id)
        self.value.append(value)
        for name, words in self.words.items():
            for word in dict.fromkeys(columns[name]):
                words.setdefault(word, len(words))
            codes = map(words.__getitem__, columns[name])
            self.codes[name].append(np.fromiter(codes, dtype=np.int32, count=len(chunk)))

    def results(self) -> Results:
        none = [np.empty(0, np.int32)]
        text = {
            name: Column(tuple(words), np.concatenate(none + self.codes[name])) for name, words in self.words.items()
        }
        return Results(text, np.concatenate(self.class_id), np.concatenate(self.value))


def _transposed(chunk: Sequence[list[str]]) -> list[tuple[str, ...]]:
    columns = list(zip(*chunk, strict=True))
    if len(columns) != len(COLUMNS):
        raise ValueError("rows of another length")
    return columns


def _numbers(classes: Sequence[str], values: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    class_id = np.fromiter(map(int, classes), dtype=np.int64, count=len(classes))
    value = np.fromiter((float(cell) if cell else np.nan for cell in values), dtype=np.float64, count=len(values))
    empty = sum(map("".__eq__, values))
    if int(np.isfinite(value).sum()) + empty != len(value):
        raise ValueError("a value is not finite")
    return class_id, value


def _name_bad_row(chunk: Sequence[list[str]], *, where: str, done: int) -> None:
    for index, row in enumerate(chunk, start=done + 1):
        try:
            _transposed([row])
            _numbers([row[-3]], [row[-1]])
        except (ValueError, OverflowError) as error:
            raise BadInput(
                f"{where}, row {index} after the header: wanted {len(COLUMNS)} cells with an integer class and a "
                f"value that is a finite number or nothing, got {','.join(row)!r}."
            ) from error
