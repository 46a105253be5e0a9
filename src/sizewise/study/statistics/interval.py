"""A bootstrap over cases and seeds that holds its level with three seeds."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from sizewise.study.statistics.components import MeanSquares, mean_squares
from sizewise.study.statistics.critical_value import combined_t

REPLICATES = 8192
LEVEL = 0.95
_CHUNK = 2_000_000  # entries of the resampling weights that are held at once
_SEED = 5


class Interval(NamedTuple):
    """Fields have the leading shape of the differences.

    Attributes:
        estimate: the mean difference.
        low: lower end.
        high: upper end.
        p_value: two-sided, of a difference of zero; below 1 − LEVEL exactly where the interval leaves zero out.
    """

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray


def interval(
    differences: np.ndarray,
    *,
    squares: MeanSquares | None = None,
    replicates: int = REPLICATES,
) -> Interval:
    """Percentile interval of (..., S, G) paired differences, for new seeds and new groups of cases.

    Seeds and groups are both redrawn, the groups from those at hand, the seeds by their estimated spread. The variance
    of the mean is estimated by V = (MS_S + max(0, MS_G − MS_E)) / (S G): the mean square of the seeds carries the noise
    once, so that of the groups is taken without it. With r the share of MS_S in it, a replicate is

        d̄ + √V · stretch(w),   w = √r · Z + √(1 − r) · U:

    * U is the mean over G groups drawn with replacement, of their differences averaged over seeds, standardised;
    * Z is standard normal, for the seeds: three seeds have ten different resamples, and no tails;
    * ``stretch`` takes a normal quantile to ``combined_t`` of the same probability, as neither three seeds nor ten
      groups know how uncertain their spread is.

    Where groups add nothing to the noise this is the t-test of the seeds' means, and where seeds add nothing that of
    the groups. With one seed the groups alone are resampled: the interval is then about these two runs, not about the
    losses. ``docs/statistics.md`` has its calibration and that of the plain bootstrap.

    Units are sorted by their difference and every draw of them has a mirrored twin, so that neither the order of seeds
    and cases nor which loss is called the reference changes the result.

    ``squares`` are the mean squares of the differences, where the seeds' is not the pair's own (``moderated``).

    >>> one = interval(np.array([[0.1, 0.2, 0.0, 0.1], [0.2, 0.1, 0.1, 0.0]]))
    >>> float(one.estimate), bool(one.low < 0.1 < one.high)
    (0.1, True)
    """
    squares = squares or mean_squares(differences)
    drawn = _standard(differences, squares, replicates=replicates)
    error = np.sqrt(_total(squares) / (squares.seeds * squares.groups))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=-1)  # the stretch keeps the order
    low, high = (squares.mean + error * _stretch(end[..., None], squares)[..., 0] for end in (low, high))
    zero = -np.copysign(_unstretch(np.abs(squares.mean) / _not_zero(error), squares), squares.mean)[..., None]
    below, above = (drawn <= zero).sum(axis=-1), (drawn >= zero).sum(axis=-1)
    rare = np.where(error > 0, np.minimum(below, above), np.where(squares.mean == 0, replicates, 0))
    p_value = np.minimum(1.0, 2 * (rare + 1) / (replicates + 1))
    return Interval(squares.mean, low, high, p_value)


def _total(squares: MeanSquares) -> np.ndarray:
    """S · G times the variance of the mean."""
    return squares.seed + np.maximum(0, squares.group - squares.noise)


def _share(squares: MeanSquares) -> np.ndarray:
    """(..., 1): how much of it is the seeds'."""
    return (squares.seed / _not_zero(_total(squares)))[..., None]


def _standard(differences: np.ndarray, squares: MeanSquares, *, replicates: int) -> np.ndarray:
    """(..., B): w of ``interval``."""
    groups, half, share = squares.groups, replicates // 2, _share(squares)
    by_group = np.sort(differences.mean(axis=-2) - squares.mean[..., None], axis=-1)
    by_group *= np.sqrt((1 - share) * groups / _not_zero((by_group**2).mean(axis=-1, keepdims=True)))
    drawn = np.empty((*squares.mean.shape, 2, half))
    for start, weights in _weights(groups, half):
        stop = start + len(weights)
        drawn[..., 0, start:stop] = by_group @ weights.T
        drawn[..., 1, start:stop] = by_group @ weights[:, ::-1].T
    drawn = np.sort(drawn.reshape(*squares.mean.shape, 2 * half), axis=-1)
    return drawn + np.sqrt(share) * _normal(2 * half)


def _stretch(normal: np.ndarray, squares: MeanSquares) -> np.ndarray:
    """(..., n) normal quantiles to ``combined_t`` of the same probabilities."""
    size = np.abs(normal)
    of_seeds, of_groups = _student(size, squares.seed_degrees), _student(size, squares.groups - 1)
    return np.copysign(combined_t(_share(squares), of_seeds, of_groups), normal)


def _unstretch(distance: np.ndarray, squares: MeanSquares) -> np.ndarray:
    """The normal quantile, at most 8, that ``_stretch`` takes to a distance above 0; by bisection."""
    low, high = np.zeros_like(distance), np.full_like(distance, 8.0)
    for _ in range(50):
        middle = (low + high) / 2
        beyond = _stretch(middle[..., None], squares)[..., 0] > distance
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return high


def _not_zero(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, 1)


@lru_cache(maxsize=8)
def _normal(count: int) -> np.ndarray:
    """Normal draws to go with as many sorted ones, so that the pairs fill their plane evenly.

    Multiples of the golden ratio: the tails of pairs drawn at random would be luck, and the same for every study of
    a size. The last draw is minus the first, and so on, so that the direction of the comparison does not matter.
    """
    even = ((np.arange(count) - (count - 1) / 2) * (np.sqrt(5) - 1) / 2 + 0.5) % 1
    return stats.norm.ppf(even)


def _student(normal: np.ndarray, degrees: float) -> np.ndarray:
    """The quantiles of t for the probabilities of normal quantiles above 0, from a table."""
    grid, table = _student_table(max(degrees, 1))
    return np.interp(normal, grid, table)


@lru_cache(maxsize=64)
def _student_table(degrees: float) -> tuple[np.ndarray, np.ndarray]:
    grid = np.linspace(1e-6, 8, 4001)
    return grid, stats.t.isf(stats.norm.sf(grid), degrees)


def _weights(groups: int, count: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield where a chunk starts and its (b, G) shares of the groups; the same for the same G and count."""
    if groups * count <= _CHUNK:
        yield 0, _small_weights(groups, count)
        return
    generator = np.random.default_rng([_SEED, groups])
    step = max(1, _CHUNK // groups)
    for start in range(0, count, step):
        yield start, _draw_weights(generator, groups, min(step, count - start))


@lru_cache(maxsize=8)
def _small_weights(groups: int, count: int) -> np.ndarray:
    return _draw_weights(np.random.default_rng([_SEED, groups]), groups, count)


def _draw_weights(generator: np.random.Generator, groups: int, count: int) -> np.ndarray:
    picks = generator.integers(groups, size=(count, groups)) + groups * np.arange(count)[:, None]
    return np.bincount(picks.ravel(), minlength=groups * count).reshape(count, groups) / groups
