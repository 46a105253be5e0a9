"""How much of a difference's spread is due to cases, to seeds, and to both together."""

from typing import NamedTuple

import numpy as np
from scipy import stats


class MeanSquares(NamedTuple):
    """The two-way table of differences d (seeds × groups), in sums of squares; each field has the leading shape of d.

    With d_sg = μ + seed_s + unit_g + noise_sg and variances σ_S², σ_G², σ_E², the expectations are
    ``seed`` G σ_S² + σ_E², ``group`` S σ_G² + σ_E², ``noise`` σ_E². ``noise`` and ``seed`` are 0 with one seed.
    ``arms`` is how many losses the seeds' mean square stands on: two, the pair's own, unless it is moderated.
    """

    mean: np.ndarray
    seed: np.ndarray
    group: np.ndarray
    noise: np.ndarray
    seeds: int
    groups: int
    arms: int = 2

    @property
    def seed_degrees(self) -> float:
        """The degrees of freedom of the seeds' mean square."""
        return seed_degrees(self.seeds, self.arms)


class Components(NamedTuple):
    """Variances: of the effect of a seed, of a group (a patient, a video, a single case), and of what is left."""

    seed: float
    group: float
    noise: float


def mean_squares(differences: np.ndarray) -> MeanSquares:
    """Analysis of variance of (..., S, G) differences, one observation per cell.

    >>> squares = mean_squares(np.array([[1.0, 2.0], [2.0, 5.0]]))
    >>> float(squares.mean), float(squares.seed), float(squares.group), float(squares.noise)
    (2.5, 4.0, 4.0, 1.0)
    """
    seeds, groups = differences.shape[-2:]
    mean = differences.mean(axis=(-2, -1))
    by_seed = differences.mean(axis=-1) - mean[..., None]
    by_group = differences.mean(axis=-2) - mean[..., None]
    rest = differences - mean[..., None, None] - by_seed[..., :, None] - by_group[..., None, :]
    return MeanSquares(
        mean=mean,
        seed=groups * (by_seed**2).sum(axis=-1) / max(seeds - 1, 1),
        group=seeds * (by_group**2).sum(axis=-1) / max(groups - 1, 1),
        noise=(rest**2).sum(axis=(-2, -1)) / max((seeds - 1) * (groups - 1), 1),
        seeds=seeds,
        groups=groups,
    )


def seed_degrees(seeds: int, arms: int = 2) -> float:
    """Degrees of freedom of a moderated mean square of the seeds: ν = 4 (S − 1)(A − 1) / (A + 2).

    With two losses it is the S − 1 of the pair itself; ``seed_pool.moderated`` has the derivation.

    >>> seed_degrees(3), seed_degrees(3, 4)
    (2.0, 4.0)
    """
    return 4 * (seeds - 1) * (arms - 1) / (arms + 2)


def components(squares: MeanSquares, *, luck: float = 0.5) -> Components:
    """Estimate the variances of one comparison, none below 0.

    The seeds' mean square is divided by the ``luck`` quantile of χ²_ν / ν. The median, 0.69 with 3 seeds of a pair,
    gives an estimate that is too low as often as too high, where the usual one is too low in two studies of three.
    A quarter and three quarters give the two values between which the seeds' variance is in every second study.
    """
    degrees = max(squares.seed_degrees, 1)
    typical = stats.chi2.ppf(luck, degrees) / degrees
    return Components(
        seed=max(0.0, float(squares.seed / typical - squares.noise) / squares.groups),
        group=max(0.0, float(squares.group - squares.noise) / squares.seeds),
        noise=float(squares.noise),
    )
