"""Wilcoxon's signed-rank test over cases, Holm's correction, and effect sizes."""

import numpy as np
from scipy import stats


def holm(p_values: np.ndarray) -> np.ndarray:
    """Holm's correction along the last axis: the chance of any false claim among the comparisons stays below the level.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, axis=-1, kind="stable")
    ordered = np.take_along_axis(p_values, order, axis=-1)
    count = p_values.shape[-1]
    adjusted = np.minimum(1.0, np.maximum.accumulate(ordered * np.arange(count, 0, -1), axis=-1))
    return np.take_along_axis(adjusted, np.argsort(order, axis=-1, kind="stable"), axis=-1)


def signed_rank_p(differences: np.ndarray) -> float:
    """Two-sided Wilcoxon signed-rank p-value of (G,) differences; cases that are equal are left out (Wilcoxon's rule).

    It asks whether these runs differ over new cases. It knows nothing of seeds: a lucky run of either loss makes it
    small as surely as a better loss does, so no verdict rests on it.
    """
    nonzero = differences[differences != 0]
    if len(nonzero) == 0:
        return 1.0
    method = "exact" if len(nonzero) <= 50 and len(np.unique(np.abs(nonzero))) == len(nonzero) else "asymptotic"
    return float(stats.wilcoxon(nonzero, method=method).pvalue)


def rank_biserial(differences: np.ndarray) -> float:
    """Matched-pairs rank-biserial correlation: (R₊ − R₋) / (R₊ + R₋), from −1 to 1.

    R₊ and R₋ are the rank sums of the positive and the negative differences. 0 where there is no difference.

    >>> rank_biserial(np.array([0.3, -0.1, 0.2]))  # ranks 3, 1, 2: (5 − 1) / 6
    0.6666666666666666
    """
    nonzero = differences[differences != 0]
    if len(nonzero) == 0:
        return 0.0
    ranks = stats.rankdata(np.abs(nonzero))
    return float((ranks * np.sign(nonzero)).sum() / ranks.sum())


def standardised_difference(differences: np.ndarray) -> float | None:
    """Mean over standard deviation of (G,) differences (Cohen's d_z); None where there is no spread."""
    if len(differences) < 2:
        return None
    spread = differences.std(ddof=1)
    return float(differences.mean() / spread) if spread > 0 else None
