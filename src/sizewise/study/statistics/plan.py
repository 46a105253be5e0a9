"""How many seeds or cases it would take to show a difference of a given size."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats
from scipy.special import ndtr

from sizewise.study.statistics.components import Components

POWER = 0.8
MOST_SEEDS = 200
MOST_UNITS = 100_000
_STUDIES = 600
_SPREADS = 100


@dataclass(frozen=True)
class Plan:
    """What would show a difference with 80 % chance, if it is as large as ``difference``.

    Attributes:
        difference: the size that is planned for.
        seeds: in all, with the units at hand; None: no number up to 200 would do.
        units: cases or patients in all, with the seeds at hand; None: no number up to 100,000 would do.
    """

    difference: float
    seeds: int | None
    units: int | None


def plan(
    parts: Components, *, difference: float, seeds: int, units: int, comparisons: int = 1, only: str = "both"
) -> Plan:
    """Plan a study from the variance components of one that was made.

    Args:
        parts: variances of the paired differences.
        difference: what is to be shown, in the unit of the metric.
        seeds: of the study at hand.
        units: cases or patients of the study at hand.
        comparisons: how many losses are compared with the reference; the level is divided by it, as in Holm's first
            step.
        only: ``seeds`` leaves the units out, which takes half the time; ``both``.
    """
    if not difference or not np.isfinite(difference) or seeds < 2:  # one seed says nothing about the spread of seeds
        return Plan(difference, None, None)
    level = 0.05 / comparisons
    by_seeds = _smallest(lambda s: power(parts, difference, seeds=s, units=units, level=level), 2, MOST_SEEDS)
    by_units = None
    if only == "both":
        by_units = _smallest(lambda g: power(parts, difference, seeds=seeds, units=g, level=level), 10, MOST_UNITS)
    return Plan(difference, by_seeds, by_units)


def power(parts: Components, difference: float, *, seeds: int, units: int, level: float = 0.05) -> float:
    """The chance that ``interval``'s p-value falls below ``level``.

    600 studies are drawn, evenly over their distribution: the estimate is normal with variance σ_S²/S + σ_G²/G +
    σ_E²/(S G), the seeds' mean square is (G σ_S² + σ_E²) χ²_(S−1) / (S − 1), the others are at their expectation. For
    each the p-value of the interval follows from its pivot, without resampling.
    """
    estimate, chi, spread_chi = _draws(seeds)
    seed_square = units * parts.seed + parts.noise
    unit_square = seeds * parts.unit + parts.noise
    total = (unit_square + seed_square - parts.noise) / (seeds * units)
    if total == 0:
        return 1.0
    observed = abs(difference) + np.sqrt(total) * estimate
    extra = np.maximum(0, (seed_square * chi)[:, None] / spread_chi - parts.noise)
    sigma = np.sqrt((unit_square + extra) / (seeds * units))
    p_value = 2 * ndtr(-np.abs(observed)[:, None] / sigma).mean(axis=1)
    return float(((p_value < level) & (observed > 0)).mean())


@lru_cache(maxsize=256)
def _draws(seeds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    even = (np.arange(_STUDIES) + 0.5) / _STUDIES
    spread_out = (np.arange(_STUDIES) + 0.5) * (np.sqrt(5) - 1) / 2 % 1  # with ``even``, fills the square evenly
    spreads = (np.arange(_SPREADS) + 0.5) / _SPREADS
    return stats.norm.ppf(even), stats.chi2.ppf(spread_out, seeds - 1), stats.chi2.ppf(spreads, seeds - 1)


def _smallest(chance: Callable[[int], float], low: int, high: int) -> int | None:
    """The smallest number from ``low`` to ``high`` whose chance reaches POWER, by bisection; None if none does."""
    if chance(high) < POWER:
        return None
    while low < high:
        middle = (low + high) // 2
        if chance(middle) >= POWER:
            high = middle
        else:
            low = middle + 1
    return low
