"""The numbers behind a critical-difference diagram over data sets (Demšar 2006)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from sizewise.errors import BadInput, import_extra
from sizewise.study.statistics.mean_ranks import shared_arms
from sizewise.study.statistics.setting_scores import SettingScores

FEWEST_DATA_SETS = 3
FEWEST_ARMS = 3


@dataclass(frozen=True)
class CriticalDifference:
    """Mean ranks and which of them differ.

    Attributes:
        arms: best first.
        mean_ranks: over the data sets, 1 is best.
        p_values: (A, A) symmetric, 1 on the diagonal: Nemenyi's test.
        distance: mean ranks that lie at least this far apart differ at 5 %.
        friedman_p: whether any differ at all.
        data_sets: how many.
        cliques: groups of arms, as names, that cannot be told apart; the bars of the diagram.
    """

    arms: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    p_values: np.ndarray
    distance: float
    friedman_p: float
    data_sets: int
    cliques: tuple[tuple[str, ...], ...]


def critical_difference(scores: Sequence[SettingScores]) -> CriticalDifference:
    """Friedman's test and Nemenyi's over data sets, whose networks are averaged.

    Args:
        scores: one per data set and model.

    Raises:
        BadInput: fewer than three arms or data sets.
    """
    arms = shared_arms(scores)
    if len(arms) < FEWEST_ARMS:
        raise BadInput(f"ranks are compared between at least {FEWEST_ARMS} losses; all data sets have {len(arms)}.")
    table = _by_data_set(scores, arms)
    if len(table) < FEWEST_DATA_SETS:
        raise BadInput(f"ranks over data sets need at least {FEWEST_DATA_SETS} of them, the study has {len(table)}.")
    ranks = stats.rankdata(-table, axis=1)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    table, mean_ranks = table[:, order], ranks.mean(axis=0)[order]
    p_values = _nemenyi(table)
    ordered = tuple(arms[i] for i in order)
    return CriticalDifference(
        arms=ordered,
        mean_ranks=tuple(mean_ranks.tolist()),
        p_values=p_values,
        distance=_distance(*table.shape),
        friedman_p=_friedman(table),
        data_sets=len(table),
        cliques=_cliques(ordered, p_values),
    )


def _by_data_set(scores: Sequence[SettingScores], arms: Sequence[str]) -> np.ndarray:
    found: dict[str, list[np.ndarray]] = {}
    for one in scores:
        picked = [one.arm(arm) for arm in arms]
        means = np.nanmean(one.contributions()[picked], axis=(1, 2)) * one.metric.sign
        found.setdefault(one.data, []).append(means)
    return np.stack([np.mean(means, axis=0) for means in found.values()])


def _friedman(table: np.ndarray) -> float:
    if (table == table[:, :1]).all():
        return 1.0
    return float(stats.friedmanchisquare(*table.T).pvalue)


def _nemenyi(table: np.ndarray) -> np.ndarray:
    posthocs = import_extra("scikit_posthocs", extra="train", reason="a critical-difference diagram")
    return posthocs.posthoc_nemenyi_friedman(-table).to_numpy()


def _distance(blocks: int, arms: int) -> float:
    """q / √2 · √(k (k + 1) / (6 N)), q the 95 % quantile of the studentised range of k and infinitely many degrees."""
    quantile = stats.studentized_range.ppf(0.95, arms, np.inf)
    return float(quantile / np.sqrt(2) * np.sqrt(arms * (arms + 1) / (6 * blocks)))


def _cliques(arms: Sequence[str], p_values: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Longest runs of neighbours in rank of which no two differ."""
    runs = []
    last = -1
    for start in range(len(arms)):
        stop = start
        while stop + 1 < len(arms) and (p_values[start : stop + 2, start : stop + 2] >= 0.05).all():
            stop += 1
        if stop > start and stop > last:
            runs.append(tuple(arms[start : stop + 1]))
            last = stop
    return tuple(runs)
