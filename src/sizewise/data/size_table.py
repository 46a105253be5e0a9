"""How large the regions of each class are: as table rows, as CSV and as a plot."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sizewise.data.check import CaseSizes
from sizewise.data.dataset import Dataset
from sizewise.outside_names import written_cell
from sizewise.palette import OKABE_ITO
from sizewise.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("class", "present", "mean", "median", "smallest", "largest", "distribution")
BLOCKS = " ▁▂▃▄▅▆▇█"
_BARS = 12  # with the other columns, a terminal of 80 holds them
BLUE, ORANGE = OKABE_ITO[:2]


@dataclass(frozen=True)
class ClassSizes:
    """The distribution of one class's share of the valid pixels of an image.

    Attributes:
        name: of the class.
        present: share of the cases in which it occurs.
        mean: over all cases, those without it included.
        median, smallest, largest: over the cases in which it occurs; 0 where there are none.
    """

    name: str
    present: float
    mean: float
    median: float
    smallest: float
    largest: float


def shares(sizes: Sequence[CaseSizes]) -> np.ndarray:
    """(cases, classes) shares of the valid pixels; cases without any valid pixel are left out.

    >>> shares([CaseSizes("a", (3, 1), 4), CaseSizes("b", (0, 0), 0)]).tolist()
    [[0.75, 0.25]]
    """
    kept = [size for size in sizes if size.valid]
    width = len(sizes[0].counts) if sizes else 0
    return np.array([[count / size.valid for count in size.counts] for size in kept]).reshape(len(kept), width)


def class_sizes(dataset: Dataset, sizes: Sequence[CaseSizes]) -> tuple[ClassSizes, ...]:
    """One row per class."""
    table = shares(sizes)
    rows = []
    for name, column in zip(dataset.classes, table.T, strict=False):
        there = column[column > 0]
        median, smallest, largest = (np.median(there), there.min(), there.max()) if len(there) else (0.0, 0.0, 0.0)
        present = len(there) / len(column) if len(column) else 0.0
        mean = float(column.mean()) if len(column) else 0.0
        rows.append(ClassSizes(name, present, mean, float(median), float(smallest), float(largest)))
    return tuple(rows)


def size_rows(dataset: Dataset, sizes: Sequence[CaseSizes]) -> list[list[str]]:
    """``class_sizes`` as text, for ``COLUMNS``."""
    table = shares(sizes)
    bins = size_bins(table)
    return [
        [
            f"{label} {row.name}",
            f"{row.present:.0%}",
            *map(percent, (row.mean, row.median, row.smallest, row.largest)),
            bars(np.histogram(table[:, column], bins)[0]),
        ]
        for column, (label, row) in enumerate(enumerate(class_sizes(dataset, sizes), start=dataset.first_id))
    ]


def size_bins(table: np.ndarray) -> np.ndarray:
    """Edges on a logarithmic scale, from the power of ten below the smallest share to the whole image.

    >>> size_bins(np.array([[0.0, 0.03, 0.97]]))[[0, -1]].tolist()
    [0.01, 1.0]
    """
    there = table[table > 0]
    decades = max(1, -int(np.floor(np.log10(there.min())))) if there.size else 1
    edges = 10.0 ** np.linspace(-decades, 0, _BARS + 1)
    edges[-1] = 1.0
    return edges


def bars(counts: Sequence[int] | np.ndarray) -> str:
    """A bar for each count, the largest at full height; what is there at all can be seen.

    >>> bars([0, 1, 100, 50])
    ' ▁█▄'
    """
    top = max(1, int(max(counts, default=1)))
    return "".join(BLOCKS[0 if not count else max(1, int(8 * count / top))] for count in counts)


def percent(share: float) -> str:
    """Three digits that count, also of small shares.

    >>> percent(0.153), percent(0.00042), percent(0.9952)
    ('15.3 %', '0.042 %', '99.5 %')
    """
    return f"{float(f'{100 * share:.3g}'):g} %"


def write_sizes(dataset: Dataset, sizes: Sequence[CaseSizes], path: Path) -> None:
    """One row per case and class: its pixels and its share of the valid pixels. Classes are integer ids."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "class", "class_name", "size_px", "proportion"])
        for size in sizes:
            named = zip(dataset.classes, size.counts, strict=True)
            for label, (name, count) in enumerate(named, start=dataset.first_id):
                writer.writerow(
                    [
                        written_cell(size.case),
                        label,
                        written_cell(name),
                        count,
                        f"{count / size.valid:.6g}" if size.valid else "",
                    ]
                )


def plot_sizes(dataset: Dataset, sizes: Sequence[CaseSizes]) -> "Figure":
    """Each case's share of each scored class on a logarithmic axis, with the median; absent classes are counted."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    table = shares(sizes)
    first = min(dataset.scored, default=dataset.first_id) - dataset.first_id  # the background is the rest
    names, columns = dataset.classes[first:], table.T[first:]
    figure = Figure(figsize=(7.2, 1.3 + 0.42 * max(1, len(names))), layout="constrained")
    axes = figure.add_subplot()
    spread = np.random.default_rng(0)  # vertical jitter, so that equal sizes stay visible
    ticks = []
    for row, (name, column) in enumerate(zip(names, columns, strict=False)):
        there = column[column > 0]
        ticks.append(name if len(there) == len(column) else f"{name}\n(absent in {len(column) - len(there)})")
        if len(there):
            axes.scatter(there, row + spread.uniform(-0.25, 0.25, len(there)), s=9, alpha=0.5, color=BLUE, linewidths=0)
            axes.plot([np.median(there)] * 2, [row - 0.36, row + 0.36], color=ORANGE, linewidth=2.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if _decades(columns) < 2.5 else (1.0,)))
    axes.xaxis.set_major_formatter(lambda share, _: percent(share))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(ticks)), ticks)
    axes.set_ylim(max(1, len(ticks)) - 0.5, -0.5)
    axes.set_xlabel("share of the image's pixels (a dot per case; the bar is the median)")
    axes.set_title(f"{dataset.name}: region sizes of {counted(len(table), 'case')}", fontsize=11)
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _decades(columns: np.ndarray) -> float:
    """How many powers of ten the sizes span."""
    there = columns[columns > 0]
    return float(np.log10(there.max() / there.min())) if there.size else 0.0


def write_plot(figure: "Figure", folder: Path) -> tuple[Path, Path]:
    """Save the plot as ``sizes.svg`` and ``sizes.png``."""
    paths = folder / "sizes.svg", folder / "sizes.png"
    for path in paths:
        figure.savefig(path, dpi=150)
    return paths
