"""A table of region sizes: how much of each case each scored class covers, and in how many pieces."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from sizewise.csv_files import read_rows
from sizewise.errors import BadInput
from sizewise.files import expanded

WANTED = (
    "a table of region sizes, a row for each case and a column for each class: pixels, or shares of the image; or the "
    "sizes.csv of `sizewise data`"
)
CSV_COLUMNS = ("case", "class", "proportion")


@dataclass(frozen=True)
class RegionTable:
    """What is known of the regions of a data set; scored classes alone.

    Attributes:
        shares: (N, K) of the valid pixels of a case that a class covers.
        spatial_dims: 2 for pictures, 3 for volumes.
        pieces: (N, K) connected components of a class in a case; None: not known.
        pieces_px: by class, the sizes of all its components in pixels; None: not known.
    """

    shares: np.ndarray
    spatial_dims: int = 2
    pieces: np.ndarray | None = None
    pieces_px: tuple[np.ndarray, ...] | None = None

    def __post_init__(self) -> None:
        if self.shares.shape[1] == 0:
            raise BadInput(
                "advise: no class is left to be scored: the only one is the background. Wanted at least one region; "
                "where label 0 is a region too, say `background=none`."
            )
        if not (self.shares > 0).any():
            raise BadInput("advise: every mask is empty, so there is no region whose size could be told.")
        if (self.shares.max(axis=1) >= 1).all():
            raise BadInput(
                "advise: every mask is filled by one class from border to border, so there is nothing to tell apart. "
                "Wanted masks with regions: look at their values."
            )


def region_table(sizes: Any, *, background: int | None = 0, spatial_dims: int = 2) -> RegionTable:
    """Read what a user calls a table of sizes.

    Args:
        sizes: (N, K) pixels of each class in each case, as ``region_stats(...).count`` has them, or shares, all at most
            1; a tensor, an array or lists. Or the path of a ``sizes.csv``.
        background: the class that is not scored; None: all are, and so of regions that may overlap.
        spatial_dims: of the images.

    >>> region_table([[90, 10], [100, 0]]).shares.tolist()
    [[0.1], [0.0]]
    """
    if spatial_dims not in (1, 2, 3):
        raise BadInput(f"advise: `spatial_dims` must be 1, 2 or 3, got {spatial_dims!r}.")
    if isinstance(sizes, str | Path):
        return RegionTable(_from_csv(expanded(sizes), background), spatial_dims)
    values = _numbers(sizes)
    if values.max(initial=0.0) > 1:  # pixels: of a row that has none nothing is known
        values = values[values.sum(axis=1) > 0]
        values = values / values.sum(axis=1, keepdims=True)
    if background is not None:
        if not 0 <= background < values.shape[1]:
            raise BadInput(f"advise: `background` is a column of the table, 0 to {values.shape[1] - 1}, or None.")
        values = np.delete(values, background, axis=1)
    return RegionTable(values, spatial_dims)


def _numbers(sizes: Any) -> np.ndarray:
    if hasattr(sizes, "detach"):
        sizes = sizes.detach().cpu()
    try:
        values = np.asarray(sizes, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"advise: wanted {WANTED}; this is neither: {error}.") from error
    if values.ndim != 2 or not values.size:
        raise BadInput(f"advise: wanted {WANTED}; got an array of shape {values.shape}.")
    if not np.isfinite(values).all() or values.min() < 0:
        raise BadInput("advise: sizes are numbers from 0 on; the table has negative or infinite ones, or none at all.")
    return values


def _from_csv(path: Path, background: int | None) -> np.ndarray:
    columns, *rows = read_rows(path, what=WANTED) or [[]]
    if missing := [name for name in CSV_COLUMNS if name not in columns]:
        raise BadInput(f"'{path}' has no column {', '.join(missing)}. Wanted {WANTED}.")
    lines = [dict(zip_longest(columns, row[: len(columns)], fillvalue="")) for row in rows]
    try:
        found = [(line["case"], int(line["class"]), float(line["proportion"])) for line in lines if line["proportion"]]
    except ValueError as error:
        raise BadInput(f"'{path}' cannot be read as {WANTED}: {error}.") from error
    classes = sorted({label for _, label, _ in found} - {background})
    cases = list(dict.fromkeys(case for case, _, _ in found))
    return _filled(cases, classes, {(case, label): share for case, label, share in found})


def _filled(cases: Sequence[str], classes: Sequence[int], known: dict[tuple[str, int], float]) -> np.ndarray:
    rows = [[known.get((case, label), 0.0) for label in classes] for case in cases]
    return np.array(rows, dtype=np.float64).reshape(len(cases), len(classes))
