"""How many seeds or cases it would take to show a difference of a given size."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import ndtr, stdtrit

from sizewise.study.statistics.components import Components, MeanSquares, components, seed_degrees
from sizewise.study.statistics.critical_value import combined_t

POWER = 0.8
MOST_SEEDS = 200
MOST_GROUPS = 100_000


@dataclass(frozen=True)
class SampleSize:
    """What would show a difference with 80 % chance, if it is as large as ``difference``.

    Attributes:
        difference: the size that is planned for.
        seeds: in all, with the groups at hand; None: no number up to 200 would do.
        fewest_seeds: where the seeds at hand differed more than seeds usually do (upper quartile).
        most_seeds: where they differed less (lower quartile). If the difference is as said, the right number is
            between the two in about every second study.
        groups: in all, with the seeds at hand; None: no number up to 100,000 would do.
        times: where neither would do alone, so many times the seeds and the groups at hand; None: not with 200 seeds.
    """

    difference: float
    seeds: int | None = None
    fewest_seeds: int | None = None
    most_seeds: int | None = None
    groups: int | None = None
    times: int | None = None


def sample_size(squares: MeanSquares, *, difference: float, comparisons: int = 1) -> SampleSize:
    """Plan a study from one that was made.

    Args:
        squares: of the paired differences.
        difference: what is to be shown, in the unit of the metric.
        comparisons: how many losses are compared with the reference; the level is divided by it, as in Holm's first
            step.
    """
    if not difference or not np.isfinite(difference) or squares.seeds < 2:  # one seed does not know the seeds' spread
        return SampleSize(difference)
    level = 0.05 / comparisons
    usual, fewest, most = seeds_range(squares, difference, level=level)
    parts = components(squares)
    by_groups = groups_needed(parts, difference, seeds=squares.seeds, level=level, arms=squares.arms)
    times = None
    if usual is None and by_groups is None:  # few seeds and few groups: each hides what the other would show
        times = times_needed(
            parts, difference, seeds=squares.seeds, groups=squares.groups, level=level, arms=squares.arms
        )
    return SampleSize(difference, usual, fewest, most, by_groups, times)


def seeds_range(
    squares: MeanSquares, difference: float, *, level: float = 0.05
) -> tuple[int | None, int | None, int | None]:
    """The number of seeds for the usual, a smaller and a larger variance of the seeds; see ``SampleSize``."""
    usual, fewest, most = (
        seeds_needed(components(squares, luck=luck), difference, groups=squares.groups, level=level, arms=squares.arms)
        for luck in (0.5, 0.75, 0.25)
    )
    return usual, fewest, most


def seeds_needed(
    parts: Components, difference: float, *, groups: int, level: float = 0.05, arms: int = 2
) -> int | None:
    """The smallest number of seeds that shows the difference with 80 % chance; None: more than 200."""

    def chance(seeds: int) -> float:
        return power(parts, difference, seeds=seeds, groups=groups, level=level, arms=arms)

    return _smallest(chance, 2, MOST_SEEDS)


def groups_needed(
    parts: Components, difference: float, *, seeds: int, level: float = 0.05, arms: int = 2
) -> int | None:
    """The smallest number of groups from 10 on that shows it with 80 % chance; None: more than 100,000."""

    def chance(groups: int) -> float:
        return power(parts, difference, seeds=seeds, groups=groups, level=level, arms=arms)

    return _smallest(chance, 10, MOST_GROUPS)


def times_needed(
    parts: Components, difference: float, *, seeds: int, groups: int, level: float = 0.05, arms: int = 2
) -> int | None:
    """How many times as many seeds and groups, both, show it with 80 % chance; None: not with up to 200 seeds."""

    def chance(times: int) -> float:
        return power(parts, difference, seeds=times * seeds, groups=times * groups, level=level, arms=arms)

    return _smallest(chance, 1, most_times(seeds))


def most_times(seeds: int) -> int:
    """The largest factor that ``times_needed`` tries.

    >>> most_times(3)
    66
    """
    return max(1, MOST_SEEDS // seeds)


def smallest_difference(parts: Components, *, seeds: int, groups: int, level: float = 0.05, arms: int = 2) -> float:
    """The difference that so many seeds and groups show with 80 % chance.

    >>> few = smallest_difference(Components(1e-4, 4e-3, 9e-3), seeds=3, groups=60, arms=4)
    >>> round(power(Components(1e-4, 4e-3, 9e-3), few, seeds=3, groups=60, arms=4), 3)
    0.8
    """

    def missing(difference: float) -> float:
        return power(parts, difference, seeds=seeds, groups=groups, level=level, arms=arms) - POWER

    high = 1e-6
    while missing(high) < 0:
        high *= 2
    return float(brentq(missing, 0, high)) if missing(0.0) < 0 else 0.0


def power(
    parts: Components, difference: float, *, seeds: int, groups: int, level: float = 0.05, arms: int = 2
) -> float:
    """The chance that ``interval`` shows a difference at ``level``, in the right direction.

    The estimate is normal with variance σ_S²/S + σ_G²/G + σ_E²/(S G), the seeds' mean square is (G σ_S² + σ_E²)
    χ²_ν / ν, and the other mean squares are at their expectation; the mean over 400 values of χ². Its degrees ν grow
    with the number of ``arms`` that the study trains, as in ``seed_degrees``.
    """
    degrees = seed_degrees(seeds, arms)
    seed_square = groups * parts.seed + parts.noise
    group_square = seeds * parts.group  # without the noise
    total = seed_square + group_square
    if total == 0:
        return 1.0
    observed = seed_square * _chi_square(degrees) / degrees + group_square
    of_seeds, of_groups = stdtrit(np.array([degrees, groups - 1.0]), 1 - level / 2)
    critical = combined_t(1 - group_square / observed, of_seeds, of_groups) * np.sqrt(observed / total)
    return float(ndtr(abs(difference) / np.sqrt(total / (seeds * groups)) - critical).mean())


@lru_cache(maxsize=256)
def _chi_square(degrees: float) -> np.ndarray:
    return stats.chi2.ppf((np.arange(400) + 0.5) / 400, degrees)


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
