"""A bootstrap over cases and seeds that holds its level with three seeds."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from sizewise.study.statistics.components import mean_squares

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
    """Percentile interval of (..., S, G) paired differences, for new seeds and new units (cases or patients).

    Seeds and units are both resampled (see ``resample``), the units as they are, the seeds by their estimated
    spread. The result depends neither on the order of seeds and units nor on which loss is called the reference.
    With one seed the units alone are resampled: the interval is then about these two runs, not about the losses.

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
    """(..., B) mean differences that studies with other seeds and other units could have given.

    A replicate is d̄ + a · (d̄* − d̄) + b · Z:

    * d̄* is the mean over G units drawn with replacement, of their differences averaged over seeds;
      a² = G / (G − 1) · (G − 1) / χ²_(G−1) undoes that a resample of few units spreads too little, and that their
      spread is itself an estimate;
    * Z is standard normal and b² = max(0, SS_S / χ²_(S−1) − MS_E) / (S G), with SS_S = (S − 1) MS_S the sum of
      squares of the seeds and MS_E the mean square of the noise, which the units already carry.

    Three seeds have ten different resamples, none of which knows how uncertain a spread from three values is; so
    their effect is drawn from the normal distribution whose variance is drawn in turn (the generalised pivot of a
    variance component). ``docs/statistics.md`` has the calibration of this and of the plain bootstrap.

    Units are sorted by their difference and every draw has a mirrored twin, so that neither the order of the cases
    nor the direction of the comparison changes the result.
    """
    squares = mean_squares(differences)
    seeds, units = squares.seeds, squares.units
    half = replicates // 2
    normal, seed_chi, unit_chi = _factors(half, seeds, units)
    by_unit = np.sort(differences.mean(axis=-2) - squares.mean[..., None], axis=-1)
    shift = np.empty((*squares.mean.shape, 2, half))
    for start, weights in _weights(units, half):
        stop = start + len(weights)
        shift[..., 0, start:stop] = by_unit @ weights.T
        shift[..., 1, start:stop] = by_unit @ weights[:, ::-1].T
    shift *= np.sqrt(units / unit_chi)
    if seeds > 1:
        variance = (seeds - 1) * squares.seed[..., None] / seed_chi - squares.noise[..., None]
        wobble = normal * np.sqrt(np.maximum(variance, 0) / (seeds * units))
        shift[..., 0, :] += wobble
        shift[..., 1, :] -= wobble
    return squares.mean[..., None] + shift.reshape(*squares.mean.shape, 2 * half)


@lru_cache(maxsize=32)
def _factors(count: int, seeds: int, units: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Z, χ²_(S−1) and χ²_(G−1), spread evenly over their joint distribution: the tails of few draws would be luck."""
    power_of_two = int(np.ceil(np.log2(max(count, 2))))
    even = stats.qmc.Sobol(3, rng=np.random.default_rng(_SEED)).random_base2(power_of_two)[:count]
    even = np.clip(even, 1e-9, 1 - 1e-9)
    normal, seed_chi, unit_chi = (
        stats.norm.ppf(even[:, 0]),
        stats.chi2.ppf(even[:, 1], max(seeds - 1, 1)),
        stats.chi2.ppf(even[:, 2], max(units - 1, 1)),
    )
    return normal, seed_chi, unit_chi


def _weights(units: int, count: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield where a chunk starts and its (b, G) shares of the units; the same for the same G and count."""
    if units * count <= _CHUNK:
        yield 0, _small_weights(units, count)
        return
    generator = np.random.default_rng([_SEED, units])
    step = max(1, _CHUNK // units)
    for start in range(0, count, step):
        yield start, _draw_weights(generator, units, min(step, count - start))


@lru_cache(maxsize=8)
def _small_weights(units: int, count: int) -> np.ndarray:
    return _draw_weights(np.random.default_rng([_SEED, units]), units, count)


def _draw_weights(generator: np.random.Generator, units: int, count: int) -> np.ndarray:
    picks = generator.integers(units, size=(count, units)) + units * np.arange(count)[:, None]
    return np.bincount(picks.ravel(), minlength=units * count).reshape(count, units) / units
