"""How much seeds spread, from all losses that were trained with them: two or three seeds of a pair know it badly."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from sizewise.study.statistics.components import MeanSquares

CHANCE = 0.04  # that the seeds of a loss spread so much more than the others' that it is judged by itself


class SeedPool(NamedTuple):
    """Fields have the leading shape of the run means.

    Attributes:
        square: MS_pool, the mean square of the seeds of one loss.
        arms: how many losses it is of.
        stands_out: (..., A) the loss that is not in it, if one is so much less stable than the others.
    """

    square: np.ndarray
    arms: np.ndarray
    stands_out: np.ndarray


def seed_pool(runs: np.ndarray, groups: int) -> SeedPool:
    """What the seeds do to each of the losses, about what they do to all of them, from (..., A, S) run means.

    MS_pool = G · Σ r² / ((A − 1)(S − 1)), with r the run means without the mean of their loss and of their seed. The
    loss with the largest standard deviation over seeds is left out if that is beyond what the F distribution gives an
    equally stable one in 4 % (2.4 times that of the others, with 3 seeds and 4 losses). Kept in, it would be taken for
    much more stable than it is, and the others for less; left out by chance, it costs little.

    >>> pool = seed_pool(np.array([[0.0, 2.0], [1.0, 2.0], [0.0, 3.0]]), groups=10)
    >>> float(pool.square), int(pool.arms)  # r = 0, ∓½, ±½ without and with the sign turned: 10 · 4 · ½² / 2
    (5.0, 3)
    """
    stands_out = _stands_out(runs)
    kept = ~stands_out[..., None]
    arms, seeds = kept.sum(axis=(-2, -1)), runs.shape[-1]
    centred = runs - runs.mean(axis=-1, keepdims=True)
    of_all = np.where(kept, centred, 0).sum(axis=-2, keepdims=True) / arms[..., None, None]
    rest = np.where(kept, centred - of_all, 0)
    square = groups * (rest**2).sum(axis=(-2, -1)) / np.maximum((arms - 1) * (seeds - 1), 1)
    return SeedPool(square, arms, stands_out)


def moderated(own: MeanSquares, pool: np.ndarray | float, arms: int) -> MeanSquares:
    """The mean squares of a pair, with that of the seeds drawn half-way to what all losses show.

    M̃S = ½ (MS_S + 2 · MS_pool): the difference of two losses that are as stable as the average one has twice the
    variance of one. A pair's own S − 1 degrees are too few to tell luck from instability; the average of all losses
    alone would take every loss for equally stable. This is the shrinkage of moderated t-tests (Smyth 2004) with a prior
    that is worth as much as the pair's own seeds.

    Where all are equally stable, let z be the A run means of one of S − 1 orthonormal contrasts of seeds, and
    u = (z_a − z_ref) / √2. Then M̃S sums, over these contrasts and divided by S − 1, u² · A / (A − 1) and
    w² / (A − 1) for A − 2 further contrasts w, all independent with one variance σ². Mean 2 σ² and variance
    2 σ⁴ (A + 2) / ((A − 1)(S − 1)) give Satterthwaite's degrees of freedom, ν = 2 · mean² / variance =
    4 (S − 1)(A − 1) / (A + 2).

    Args:
        own: of the pair's differences.
        pool: ``SeedPool.square`` of ``arms`` losses, the pair among them, on the same seeds.
        arms: how many losses. With two, this is the pair's own mean square.
    """
    return own._replace(seed=(own.seed + 2 * pool) / 2, arms=int(arms))


def _stands_out(runs: np.ndarray) -> np.ndarray:
    arms, seeds = runs.shape[-2:]
    if arms < 3 or seeds < 2:
        return np.zeros(runs.shape[:-1], dtype=bool)
    ratio, which = largest_ratio(runs)
    return (np.arange(arms) == which[..., None]) & (ratio > usual_ratio(CHANCE, arms, seeds))[..., None]


@lru_cache(maxsize=64)
def usual_ratio(chance: float, arms: int, seeds: int) -> float:
    """How many times as much as the others' the seeds of one loss spread with this chance, if all are equally stable.

    >>> round(usual_ratio(0.04, arms=4, seeds=3), 2)
    2.4
    """
    return float(np.sqrt(stats.f.isf(chance, seeds - 1, (arms - 1) * (seeds - 1))))


def largest_ratio(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest standard deviation over seeds of a loss, as a multiple of the others', and which loss that is.

    >>> ratio, which = largest_ratio(np.array([[0.0, 2.0], [0.0, 2.0], [0.0, 2.0], [0.0, 8.0]]))
    >>> float(ratio), int(which)
    (4.0, 3)
    """
    squares = runs.var(axis=-1, ddof=1)
    others = (squares.sum(axis=-1, keepdims=True) - squares) / (runs.shape[-2] - 1)
    ratios = np.sqrt(squares / np.where(others > 0, others, np.inf))
    return ratios.max(axis=-1), ratios.argmax(axis=-1)
