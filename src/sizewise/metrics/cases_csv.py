"""``cases.csv``: one score per line, so that runs, data sets and other programs' results stack by joining files."""

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sizewise.checksums import check_intact, is_intact, replacing_checked
from sizewise.errors import BadInput
from sizewise.files import replacing
from sizewise.metrics.overlap import pool
from sizewise.metrics.registry import METRICS, POOLED
from sizewise.outside_names import read_cell, written_cell

if TYPE_CHECKING:
    from sizewise.metrics.case import RegionScore

RUN_COLUMNS = ("run", "data", "model", "loss", "weight", "seed", "decision")
COLUMNS = (*RUN_COLUMNS, "case", "class", "metric", "value")
POOLED_CASE = "all"
ARGMAX = "argmax"  # how labels were decided where a table does not say: those of earlier versions have no such column
_HINTS = {
    "cases.csv": "Resuming the run, or repeating the command that made it, scores the cases again.",
    "results.csv": "Repeating the command that made the study joins its runs again.",
}
_BEFORE_DECISIONS = tuple(name for name in COLUMNS if name != "decision")


@dataclass(frozen=True)
class RunColumns:
    """What the scores are of; a field stays empty where it is not known, as for label maps from elsewhere."""

    run: str = ""
    data: str = ""
    model: str = ""
    loss: str = ""
    weight: str = ""
    seed: str = ""
    decision: str = ""


@dataclass(frozen=True)
class Row:
    """One line of ``cases.csv``.

    Attributes:
        of: the run.
        case: the case's name, or ``all`` for pooled metrics.
        class_id: the label.
        metric: such as ``dsc``, or ``dsc_pooled``.
        value: None is an empty cell: no value, as ``policy`` has it.
    """

    of: RunColumns
    case: str
    class_id: int
    metric: str
    value: float | None

    def cells(self) -> tuple[str, ...]:
        """As text, in the order of the columns; numbers come back exactly as they were."""
        value = "" if self.value is None else repr(float(self.value))
        return (*astuple(self.of), self.case, str(self.class_id), self.metric, value)


def score_rows(scores: Mapping[str, Sequence["RegionScore"]], *, of: RunColumns | None = None) -> Iterator[Row]:
    """The rows of many cases, and after them the pooled ones, computed from summed counts.

    Args:
        scores: by case name, what ``score_case`` returned.
        of: the run they belong to.

    >>> from sizewise.metrics.overlap import Counts
    >>> from sizewise.metrics.case import RegionScore
    >>> for row in score_rows({"a": [RegionScore(1, Counts(2, 3, 5, 100))]}):
    ...     print(row.case, row.class_id, row.metric, row.value)
    a 1 dsc 0.5
    a 1 iou 0.3333333333333333
    a 1 size_error -0.02
    a 1 relative_size_error -0.4
    a 1 true_proportion 0.05
    all 1 dsc_pooled 0.5
    all 1 iou_pooled 0.3333333333333333
    """
    of = of or RunColumns()
    thirds = component_thirds(scores)
    for case, regions in scores.items():
        for region in regions:
            for name, value in region.values(thirds.get(region.class_id)).items():
                yield Row(of, case, region.class_id, name, value)
    for class_id in sorted({region.class_id for regions in scores.values() for region in regions}):
        counts = pool(r.counts for regions in scores.values() for r in regions if r.class_id == class_id)
        for name, metric in METRICS.items():
            if metric.pooled and metric.of_counts is not None:
                yield Row(of, POOLED_CASE, class_id, name + POOLED, metric.of_counts(counts))


def component_thirds(scores: Mapping[str, Sequence["RegionScore"]]) -> dict[int, tuple[float, float]]:
    """By class, the sizes that part its true components, over all cases, into thirds; none for a class without any."""
    from sizewise.metrics.component_matches import size_thirds  # with scipy, which readers of tables need not wait for

    sizes: dict[int, list[int]] = {}
    for region in (one for regions in scores.values() for one in regions):
        if region.components is not None:
            sizes.setdefault(region.class_id, []).extend(region.components.true.sizes_px)
    found = {class_id: size_thirds(one) for class_id, one in sizes.items()}
    return {class_id: thirds for class_id, thirds in found.items() if thirds is not None}


def write_cases(path: Path, rows: Iterable[Row]) -> None:
    """Write a table, whole or not at all: an interrupted write leaves what was there before.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cases.csv"
    ...     write_cases(path, [Row(RunColumns(loss="RCE"), "a", 1, "dsc", 0.1)])
    ...     print(path.read_text().splitlines()[1], read_cases(path)[0].value)
    ,,,RCE,,,,a,1,dsc,0.1 0.1
    """
    _write(path, (row.cells() for row in rows), replacing)


def write_complete(path: Path, rows: Iterable[Row]) -> None:
    """The same with a checksum beside it, for tables whose presence means that a run or a study is complete."""
    _write(path, (row.cells() for row in rows), replacing_checked)


def join_cases(path: Path, tables: Iterable[Path]) -> None:
    """Write the lines of all tables to ``path``, one table after the other, with a checksum."""
    _write(path, (cells for table in tables for _, cells in table_lines(table)), replacing_checked)


def check_writable(path: Path) -> None:
    """Refuse a place that cannot be written, or that holds the table of a training run, before any work is done."""
    nearest = next(folder for folder in path.absolute().parents if folder.exists())
    if path.is_dir() or not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise BadInput(f"cannot write '{path}'. Name another `folder`.")
    if not is_intact(path) and not (path.parent / "config.json").exists():
        return  # a table of scores that was damaged since is made again
    if path.exists() and any(row.of.run for row in read_cases(path)):
        raise BadInput(f"'{path}' holds the scores of a training run and is not overwritten. Name another `folder`.")


def read_cases(path: Path) -> list[Row]:
    """Read a table back; raises BadInput with file and line where it is not in this form."""
    return [_row(path, line, cells) for line, cells in table_lines(path)]


def decisions_in(path: Path) -> tuple[str, ...]:
    """The decisions that a table has rows of, in their order."""
    at = COLUMNS.index("decision")
    return tuple(dict.fromkeys(cells[at] for _, cells in table_lines(path)))


def table_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a table in this form, as cells with their number in the file; the header is checked and left out.

    Tables of earlier versions, without a column for the decision, are read as ``argmax``.
    """
    check_intact(path, hint=_HINTS.get(path.name, ""))
    try:
        _refuse_half_a_line(path)
        with path.open(newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            header = tuple(next(lines, ()))
            if header not in (COLUMNS, _BEFORE_DECISIONS):
                raise BadInput(
                    f"'{path}': wanted the columns {','.join(COLUMNS)}, got {','.join(header) or 'nothing'}."
                )
            at = COLUMNS.index("decision")
            for cells in lines:
                words = list(map(read_cell, cells))
                yield lines.line_num, words if header == COLUMNS else [*words[:at], ARGMAX, *words[at:]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"cannot read '{path}': {error}.") from error


def _refuse_half_a_line(path: Path) -> None:
    """A last number that was cut short is a number too."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        if size and file.read(1) != b"\n":
            raise BadInput(
                f"'{path}' ends in the middle of a line: it was cut short. Copy it again; if it is complete, add a "
                "line break at its end."
            )


def _write(path: Path, lines: Iterable[Sequence[str]], replace: Callable[[Path], AbstractContextManager[Path]]) -> None:
    last = len(COLUMNS) - 1  # a number, which may begin with a minus
    try:
        with replace(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([*map(written_cell, cells[:last]), *cells[last:]] for cells in lines)
    except OSError as error:
        raise BadInput(f"cannot write '{path}': {error.strerror or error}.") from error


def _row(path: Path, line: int, cells: list[str]) -> Row:
    try:
        *of, case, class_id, metric, value = cells
        return Row(RunColumns(*of), case, int(class_id), metric, float(value) if value else None)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"'{path}', line {line}: wanted {len(COLUMNS)} cells with an integer class and a value that is a number "
            f"or nothing, got {','.join(cells)!r}."
        ) from error
