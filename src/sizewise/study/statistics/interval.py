"""A bootstrap over cases and seeds that holds its level with three seeds."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from sizewise.study.statistics.components import mean_squares
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
        p_value: two-sided, of a difference of zero; below 1 − level exactly where the interval leaves zero out.
    """

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray


def interval(differences: np.ndarray, *, level: float = LEVEL, replicates: int = REPLICATES) -> Interval:
    """Percentile interval of (..., S, G) paired differences, for new seeds and new groups of cases.

    Seeds and groups are both redrawn (see ``resample``), the groups from those at hand, the seeds by their estimated
    spread. The result depends neither on the order of seeds and groups nor on which loss is called the reference.
    With one seed the groups alone are resampled: the interval is then about these two runs, not about the losses.

    >>> one = interval(np.array([[0.1, 0.2, 0.0, 0.1], [0.2, 0.1, 0.1, 0.0]]))
    >>> float(one.estimate), bool(one.low < 0.1 < one.high)
    (0.1, True)
    """
    draws = resample(differences, replicates=replicates)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    below, above = ((draws <= 0).sum(axis=-1), (draws >= 0).sum(axis=-1))
    p_value = np.minimum(1.0, 2 * (np.minimum(below, above) + 1) / (replicates + 1))
    estimate = differences.mean(axis=(-2, -1))
    same = (draws == draws[..., :1]).all(axis=-1)  # no spread at all: a constant difference, zero or not
    return Interval(estimate, low, high, np.where(same & (estimate == 0), 1.0, p_value))


def resample(differences: np.ndarray, *, replicates: int = REPLICATES) -> np.ndarray:
    """(..., B) mean differences that studies with other seeds and other groups could have given.

    The variance of the mean is estimated by V = (MS_S + max(0, MS_G − MS_E)) / (S G): the mean square of the seeds
    carries the noise once, so that of the groups is taken without it. With r the share of MS_S in it, a replicate is

        d̄ + √V · stretch(w),   w = √r · Z + √(1 − r) · U:

    * U is the mean over G groups drawn with replacement, of their differences averaged over seeds, standardised;
    * Z is standard normal, for the seeds: three seeds have ten different resamples, and no tails;
    * ``stretch`` takes a normal quantile to ``combined_t`` of the same probability, as neither three seeds nor ten
      groups know how uncertain their spread is.

    Where groups add nothing to the noise this is the t-test of the seeds' means, and where seeds add nothing that of
    the groups. ``docs/statistics.md`` has its calibration and that of the plain bootstrap.

    Units are sorted by their difference and every draw of them has a mirrored twin, so that neither the order of the
    cases nor the direction of the comparison changes the result.
    """
    squares = mean_squares(differences)
    seeds, groups = squares.seeds, squares.groups
    half = replicates // 2
    total = squares.seed + np.maximum(0, squares.group - squares.noise)
    share = (squares.seed / _not_zero(total))[..., None]
    by_group = np.sort(differences.mean(axis=-2) - squares.mean[..., None], axis=-1)
    by_group *= np.sqrt((1 - share) * groups / _not_zero((by_group**2).mean(axis=-1, keepdims=True)))
    drawn = np.empty((*squares.mean.shape, 2, half))
    for start, weights in _weights(groups, half):
        stop = start + len(weights)
        drawn[..., 0, start:stop] = by_group @ weights.T
        drawn[..., 1, start:stop] = by_group @ weights[:, ::-1].T
    drawn = np.sort(drawn.reshape(*squares.mean.shape, 2 * half), axis=-1)
    drawn += np.sqrt(share) * _normal(2 * half)
    size = np.abs(drawn)
    stretched = combined_t(share, _student(size, seeds - 1), _student(size, groups - 1))
    error = np.sqrt(total / (seeds * groups))[..., None]
    return squares.mean[..., None] + error * np.copysign(stretched, drawn)


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


def _student(normal: np.ndarray, degrees: int) -> np.ndarray:
    """The quantiles of t for the probabilities of normal quantiles above 0, from a table."""
    grid, table = _student_table(max(degrees, 1))
    return np.interp(normal, grid, table)


@lru_cache(maxsize=64)
def _student_table(degrees: int) -> tuple[np.ndarray, np.ndarray]:
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
