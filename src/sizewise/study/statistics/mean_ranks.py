"""Which loss comes first over all data sets, and how firmly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from sizewise.errors import BadInput
from sizewise.study.statistics.setting_scores import SettingScores

REPLICATES = 2000
_SEED = 6


@dataclass(frozen=True)
class Ranking:
    """Losses ordered by their mean rank; all tuples are in that order.

    Attributes:
        arms: best first.
        mean_ranks: over data sets, 1 is best; models of one data set are averaged first.
        rank_intervals: by arm, the 2.5 % and 97.5 % quantiles of its place among the replicates.
        first_share: by arm, the share of replicates in which it comes first (ties share).
        order_share: the share of replicates in which the whole order is this one.
        data: the data sets that were ranked over.
        notes: what was left out, as sentences.
    """

    arms: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    rank_intervals: tuple[tuple[float, float], ...]
    first_share: tuple[float, ...]
    order_share: float
    data: tuple[str, ...]
    notes: tuple[str, ...] = ()


def rank(
    scores: Sequence[SettingScores],
    *,
    groups: Mapping[str, Mapping[str, str]] | None = None,
) -> Ranking:
    """Rank the arms that all data sets have.

    A replicate draws S − 1 seeds and G − 1 groups (patients where known) with replacement in every data set and model,
    the same for all losses, and ranks again; n − 1 rather than n draws give the mean its right spread, which matters
    with three seeds. With two seeds or more in a data set the share is about new seeds and new cases; with one it is
    about new cases alone.

    Args:
        scores: one per data set and model.
        groups: by data set, the group of each case.

    Raises:
        BadInput: fewer than two arms are in all of them.
    """
    arms = shared_arms(scores)
    observed, drawn, names = [], [], []
    generator = np.random.default_rng(_SEED)
    for one in scores:
        picked = [one.arm(arm) for arm in arms]
        both = one.present[picked].all(axis=0)
        if not both.any():
            raise BadInput(f"ranking: the losses have no seed in common on data '{one.data}', model '{one.model}'.")
        values = one.grouped((groups or {}).get(one.data))[picked][:, both] * one.metric.sign
        observed.append(values.mean(axis=(1, 2)))
        drawn.append(_resampled(generator, values))
        names.append(one.data)
    mean_ranks = _mean_ranks(np.stack(observed)[:, :, None], names)[:, 0]
    replicate_ranks = _mean_ranks(np.stack(drawn), names)
    order = np.argsort(mean_ranks, kind="stable")
    return _ranking(arms, mean_ranks, replicate_ranks, order, tuple(dict.fromkeys(names)), _left_out(scores, arms))


def shared_arms(scores: Sequence[SettingScores]) -> tuple[str, ...]:
    """The arms that every data set and model has, in the order of the first."""
    arms = tuple(arm for arm in scores[0].arms if all(arm in one.arms for one in scores)) if scores else ()
    if len(arms) < 2:
        raise BadInput(f"ranking: wanted at least two losses that every data set has, got {list(arms)}.")
    return arms


def _resampled(generator: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """(A, B) means of (A, S, G) contributions under resampled seeds and groups."""
    arms, seeds, groups = values.shape
    seed_share = generator.multinomial(max(seeds - 1, 1), np.full(seeds, 1 / seeds), REPLICATES) / max(seeds - 1, 1)
    draws = np.empty((arms, REPLICATES))
    step = max(1, 2_000_000 // groups)
    for start in range(0, REPLICATES, step):
        stop = min(start + step, REPLICATES)
        size = max(groups - 1, 1)
        picks = generator.integers(groups, size=(stop - start, size)) + groups * np.arange(stop - start)[:, None]
        group_share = np.bincount(picks.ravel(), minlength=groups * (stop - start)).reshape(-1, groups) / size
        draws[:, start:stop] = np.einsum("asb,bs->ab", values @ group_share.T, seed_share[start:stop])
    return draws


def _mean_ranks(scores: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """(A, B) from (settings, A, B): rank within each, average the models of a data set, then the data sets."""
    ranks = stats.rankdata(-scores, axis=1)
    of = np.array(names, dtype=object)
    return np.mean([ranks[of == name].mean(axis=0) for name in dict.fromkeys(names)], axis=0)


def _ranking(
    arms: tuple[str, ...],
    mean_ranks: np.ndarray,
    replicate_ranks: np.ndarray,
    order: np.ndarray,
    data: tuple[str, ...],
    notes: tuple[str, ...],
) -> Ranking:
    ranks = replicate_ranks[order]
    first = ranks == ranks.min(axis=0)
    places = stats.rankdata(ranks, axis=0)
    ends = np.quantile(places, [0.025, 0.975], axis=1)
    return Ranking(
        arms=tuple(arms[i] for i in order),
        mean_ranks=tuple(mean_ranks[order].tolist()),
        rank_intervals=tuple((float(low), float(high)) for low, high in ends.T),
        first_share=tuple((first / first.sum(axis=0)).mean(axis=1).tolist()),
        order_share=float((np.diff(ranks, axis=0) > 0).all(axis=0).mean()),
        data=data,
        notes=notes,
    )


def _left_out(scores: Sequence[SettingScores], arms: Sequence[str]) -> tuple[str, ...]:
    missing = sorted({arm for one in scores for arm in one.arms} - set(arms))
    return (f"not on every data set, so not ranked: {', '.join(missing)}.",) if missing else ()
