"""The numbers behind a critical-difference diagram (Demšar 2006)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from sizewise.errors import BadInput, import_extra
from sizewise.study.statistics.ranking import shared_arms
from sizewise.study.statistics.signed_rank import holm, signed_rank_p
from sizewise.study.statistics.table import Scores, group_codes

FEWEST_DATA_SETS = 3


@dataclass(frozen=True)
class CriticalDifference:
    """Mean ranks and which of them differ.

    Attributes:
        arms: best first.
        mean_ranks: over the blocks, 1 is best.
        p_values: (A, A) symmetric, 1 on the diagonal; Nemenyi's test, or Wilcoxon's with Holm's correction.
        distance: mean ranks that lie at least this far apart differ at 5 % (Nemenyi); None for Wilcoxon.
        friedman_p: whether any differ at all.
        blocks: how many data sets or cases.
        over: ``data sets``, or ``cases`` where there are fewer than three data sets: then it is about these runs over
            new cases, and seed luck is not in it.
        cliques: groups of arms, as names, that cannot be told apart; the bars of the diagram.
    """

    arms: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    p_values: np.ndarray
    distance: float | None
    friedman_p: float
    blocks: int
    over: str
    cliques: tuple[tuple[str, ...], ...]


def critical_difference(
    scores: Sequence[Scores], *, test: str = "nemenyi", groups: Mapping[str, Mapping[str, str]] | None = None
) -> CriticalDifference:
    """Friedman's test and its post-hoc test over data sets (models averaged), or over the cases of the first ones.

    Args:
        scores: one per data set and model.
        test: ``nemenyi`` or ``wilcoxon`` (pairs of losses, Holm's correction).
        groups: by data set, the group of each case; used where the blocks are cases.

    Raises:
        BadInput: fewer than three losses, an unknown test, or fewer than two blocks.
    """
    if test not in ("nemenyi", "wilcoxon"):
        raise BadInput(f"critical_difference: test must be one of nemenyi, wilcoxon, got '{test}'.")
    arms = shared_arms(scores)
    if len(arms) < 3:
        raise BadInput(f"critical_difference: wanted at least three losses, got {list(arms)}.")
    names = list(dict.fromkeys(one.data for one in scores))
    over = "data sets" if len(names) >= FEWEST_DATA_SETS else "cases"
    table = _data_blocks(scores, arms, names) if over == "data sets" else _case_blocks(scores, arms, groups or {})
    if len(table) < 2:
        raise BadInput(f"critical_difference: wanted at least two {over}, got {len(table)}.")
    ranks = stats.rankdata(-table, axis=1)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    table, mean_ranks = table[:, order], ranks.mean(axis=0)[order]
    p_values = _nemenyi(table) if test == "nemenyi" else _wilcoxon(table)
    ordered = tuple(arms[i] for i in order)
    return CriticalDifference(
        arms=ordered,
        mean_ranks=tuple(mean_ranks.tolist()),
        p_values=p_values,
        distance=_distance(*table.shape) if test == "nemenyi" else None,
        friedman_p=_friedman(table),
        blocks=len(table),
        over=over,
        cliques=_cliques(ordered, p_values),
    )


def _data_blocks(scores: Sequence[Scores], arms: Sequence[str], names: Sequence[str]) -> np.ndarray:
    blocks: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for one in scores:
        picked = [one.arm(arm) for arm in arms]
        blocks[one.data].append(np.nanmean(one.contributions()[picked], axis=(1, 2)) * one.measure.sign)
    return np.stack([np.mean(found, axis=0) for found in blocks.values()])


def _case_blocks(scores: Sequence[Scores], arms: Sequence[str], groups: Mapping[str, Mapping[str, str]]) -> np.ndarray:
    """Cases or patients of the first data set and model, seeds averaged; those without a value for a loss are flawless.

    A case in which no loss has a value is left out.
    """
    one = scores[0]
    picked = [one.arm(arm) for arm in arms]
    both = one.present[picked].all(axis=0)
    if not both.any():
        raise BadInput(f"critical_difference: the losses have no seed in common on data '{one.data}'.")
    values = one.values[picked][:, both]
    known = ~np.isnan(values).all(axis=(0, 1))
    filled = np.nan_to_num(values, nan=one.measure.flawless).mean(axis=1) * known
    has = known.any(axis=-1)
    by_case = filled[:, has].sum(axis=-1) / known[has].sum(axis=-1) * one.measure.sign
    codes = group_codes([case for case, keep in zip(one.cases, has, strict=True) if keep], groups.get(one.data))
    if len(codes) == 0:
        return np.empty((0, len(arms)))
    member = np.equal.outer(codes, np.arange(codes.max() + 1)).astype(float)
    return (by_case @ member / member.sum(axis=0)).T


def _friedman(table: np.ndarray) -> float:
    if (table == table[:, :1]).all():
        return 1.0
    return float(stats.friedmanchisquare(*table.T).pvalue)


def _nemenyi(table: np.ndarray) -> np.ndarray:
    posthocs = import_extra("scikit_posthocs", extra="study", reason="A critical-difference diagram")
    return posthocs.posthoc_nemenyi_friedman(-table).to_numpy()


def _wilcoxon(table: np.ndarray) -> np.ndarray:
    count = table.shape[1]
    upper = np.triu_indices(count, 1)
    found = holm(np.array([signed_rank_p(table[:, i] - table[:, j]) for i, j in zip(*upper, strict=True)]))
    p_values = np.eye(count)
    p_values[upper] = found
    return np.maximum(p_values, p_values.T)


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
