"""What the sizes of a data set's regions look like: seven numbers, and how far two data sets are apart in them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from sizewise.advice.region_table import RegionTable
from sizewise.data.size_table import percent

SMALL = 0.05  # the quantile of component sizes that «smallest» is: below it lie specks
LEAST = (0.2, 0.2, 0.1, 0.2, 0.2, 0.2, 0.5)  # standard deviations, in the order of the features


@dataclass(frozen=True)
class Features:
    """Region sizes in numbers. What is not known is None.

    Attributes:
        share: of the image that a region covers: the geometric mean over the cases that have it, then over classes.
        spread: the standard deviation of the logarithm of that share over cases, averaged over classes.
        absent: how many of all pairs of case and class have no pixel.
        components: connected pieces of a class in a case that has it, on average.
        smallest_px: the size below which 5 % of a class's components are, the geometric mean over classes.
        classes: that are scored.
        spatial_dims: 2 for pictures, 3 for volumes.
    """

    share: float
    spread: float
    absent: float
    components: float | None
    smallest_px: float | None
    classes: int
    spatial_dims: int


NAMES = tuple(field.name for field in fields(Features))


def features_of(table: RegionTable) -> Features:
    r"""The features of a table of sizes.

    With y_nk the share of class k in case n, present where y_nk > 0:

        share = exp mean_k mean_{n: present} log y_nk,   spread = mean_k std_{n: present} log y_nk.

    Classes that no case has are in neither.

    >>> from sizewise.advice.region_table import region_table
    >>> features_of(region_table([[90, 10], [60, 40], [100, 0]])).share  # the root of 0.1 · 0.4
    0.2
    """
    logs = [np.log(column[column > 0]) for column in table.shares.T if (column > 0).any()]
    there = table.shares > 0
    components = smallest = None
    if table.pieces is not None:
        components = float(table.pieces[table.pieces > 0].mean())
    if table.pieces_px is not None:
        low = [np.quantile(sizes, SMALL) for sizes in table.pieces_px if len(sizes)]
        smallest = float(np.exp(np.mean(np.log(low))))
    return Features(
        share=float(f"{np.exp(np.mean([one.mean() for one in logs])):.6g}"),
        spread=float(np.mean([one.std() for one in logs])),
        absent=float(1 - there.mean()),
        components=components,
        smallest_px=smallest,
        classes=table.shares.shape[1],
        spatial_dims=table.spatial_dims,
    )


def distances(here: Features, there: Sequence[Features]) -> list[float]:
    """How far each data set is, in standard deviations of a feature over the sets: the root mean square over features.

    Shares, numbers and sizes are compared by their logarithm, the smallest structures by their diameter in pixels. A
    standard deviation is no smaller than ``LEAST``, so that nothing is made of a feature that the sets have nearly
    alike. A feature that one of two does not know is left out of their distance.

    >>> a = Features(0.1, 0.5, 0.0, 1.0, 100.0, 1, 2)
    >>> b = Features(0.001, 0.5, 0.0, 1.0, 100.0, 1, 2)
    >>> distances(a, [a, b])[0]
    0.0
    """
    points = np.array([coordinates(one) for one in there])
    known = ~np.isnan(points)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, points, 0).sum(axis=0) / count
    scale = np.sqrt(np.where(known, (points - mean) ** 2, 0).sum(axis=0) / count)
    away = (points - np.array(coordinates(here))) / np.maximum(scale, LEAST)
    used = np.maximum((~np.isnan(away)).sum(axis=1), 1)
    return [float(one) for one in np.sqrt(np.nansum(away**2, axis=1) / used)]


def coordinates(of: Features) -> list[float]:
    """The features as numbers that can be subtracted; NaN: not known."""
    unknown = float("nan")
    return [
        float(np.log10(of.share)),
        of.spread,
        of.absent,
        unknown if of.components is None else float(np.log10(of.components)),
        unknown if of.smallest_px is None else float(np.log10(of.smallest_px)) / of.spatial_dims,
        float(np.log10(of.classes)),
        float(of.spatial_dims),
    ]


def in_words(of: Features) -> list[str]:
    """One cell for each feature, as tables show them.

    >>> in_words(Features(0.0153, 0.9, 0.25, None, None, 3, 2))
    ['1.5 %', '× 2.5', '25 %', '', '', '3', '2D']
    """
    return [
        percent(float(f"{of.share:.2g}")),
        f"× {np.exp(of.spread):.1f}",
        f"{of.absent:.0%}".replace("%", " %"),
        "" if of.components is None else f"{of.components:.3g}",
        "" if of.smallest_px is None else f"{float(f'{of.smallest_px:.2g}'):,.0f}",
        str(of.classes),
        f"{of.spatial_dims}D",
    ]
