"""Each loss against a reference loss: difference, interval, tests, effect size, and what would settle it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sizewise.errors import BadInput
from sizewise.metrics.registry import Metric
from sizewise.study.statistics.components import MeanSquares, mean_squares
from sizewise.study.statistics.interval import LEVEL, interval
from sizewise.study.statistics.sample_size import SampleSize, sample_size
from sizewise.study.statistics.seed_pool import moderated, seed_pool
from sizewise.study.statistics.setting_scores import SettingScores, group_codes
from sizewise.study.statistics.signed_rank import holm, rank_biserial, signed_rank_p, standardised_difference

FEWEST_SEEDS = 2
FEWEST_GROUPS = 10


@dataclass(frozen=True)
class Comparison:
    """A loss minus the reference, on one data set and model; differences are in the unit of the metric, unscaled.

    Attributes:
        data: the data set.
        model: the network.
        metric: what was measured.
        arm: the loss.
        reference: the loss that it is compared with.
        seeds: seeds that both have.
        cases: cases that both have.
        groups: what is resampled: patients or videos where known; a case without one is a group of its own.
        estimate: mean difference of the scores.
        low: lower end of the 95 % interval of this comparison by itself.
        high: upper end.
        p_value: of the interval.
        p_holm: corrected for all comparisons that were made together.
        wilcoxon_p: signed-rank test over groups, seeds averaged; about these runs, blind to seed luck.
        wilcoxon_holm: corrected likewise.
        rank_biserial: effect size, −1 to 1, positive where the loss is better.
        standardised: mean over standard deviation of the groups' differences, positive where the loss is better.
        squares: how the differences spread over seeds, groups and the rest; what the seeds do is moderated by all
            losses of the study.
        needed: seeds or groups that would show a difference of this size.
        identical: whether every value is the same in both.
        comparisons: how many comparisons the correction is for.
    """

    data: str
    model: str
    metric: Metric
    arm: str
    reference: str
    seeds: int
    cases: int
    groups: int
    estimate: float
    low: float
    high: float
    p_value: float
    p_holm: float
    wilcoxon_p: float
    wilcoxon_holm: float
    rank_biserial: float
    standardised: float | None
    squares: MeanSquares
    needed: SampleSize
    identical: bool
    comparisons: int

    @property
    def shown(self) -> bool:
        """Whether a difference is claimed: enough seeds and groups, and the corrected p-value is below 5 %."""
        return not self.refused and self.p_holm < 1 - LEVEL

    @property
    def refused(self) -> bool:
        """Whether there is too little for a verdict: then neither an interval nor a p-value means what it says."""
        return self.seeds < FEWEST_SEEDS or self.groups < FEWEST_GROUPS or self.identical

    @property
    def gain(self) -> float:
        """The difference with the sign that makes more better."""
        return self.metric.sign * self.estimate


def compare(
    *scores: SettingScores, reference: str, groups: Mapping[str, Mapping[str, str]] | None = None
) -> list[Comparison]:
    """Compare every arm with the reference, on every data set and model given, corrected together.

    Args:
        scores: what ``arrange`` returned, one per data set and model, of the metric that the study is about.
        reference: the arm to compare with.
        groups: by data set, the group (patient, video) of each case.

    Raises:
        BadInput: there is no such arm.
    """
    found = []
    for one in scores:
        which = one.arm(reference)
        for index in range(len(one.arms)):
            if index != which:
                found.append(compare_pair(one, index, which, (groups or {}).get(one.data)))
    if not found:
        return []
    corrected = holm(np.array([each.p_value for each in found]))
    wilcoxon = holm(np.array([each.wilcoxon_p for each in found]))
    return [
        replace(
            each,
            p_holm=float(p_holm),
            wilcoxon_holm=float(p_wilcoxon),
            comparisons=len(found),
            needed=sample_size(each.squares, difference=each.estimate, comparisons=len(found)),
        )
        for each, p_holm, p_wilcoxon in zip(found, corrected, wilcoxon, strict=True)
    ]


def compare_pair(scores: SettingScores, arm: int, reference: int, groups: Mapping[str, str] | None) -> Comparison:
    """One arm against another, by their places; nothing is corrected, and nothing planned."""
    both = scores.present[arm] & scores.present[reference]
    if not both.any():
        raise BadInput(
            f"statistics: '{scores.arms[arm]}' and '{scores.arms[reference]}' have no seed in common on data "
            f"'{scores.data}', model '{scores.model}'."
        )
    contributions = scores.grouped(groups)
    differences = contributions[arm, both] - contributions[reference, both]
    squares = _moderated(scores, contributions, arm, reference, mean_squares(differences))
    found = interval(differences, squares=squares)
    ranked = group_differences(scores, arm, reference, groups)
    standardised = standardised_difference(differences.mean(axis=0))
    sign = scores.metric.sign
    return Comparison(
        data=scores.data,
        model=scores.model,
        metric=scores.metric,
        arm=scores.arms[arm],
        reference=scores.arms[reference],
        seeds=int(both.sum()),
        cases=len(scores.cases),
        groups=differences.shape[1],
        estimate=float(found.estimate),
        low=float(found.low),
        high=float(found.high),
        p_value=float(found.p_value),
        p_holm=float(found.p_value),
        wilcoxon_p=signed_rank_p(ranked),
        wilcoxon_holm=1.0,
        rank_biserial=sign * rank_biserial(ranked),
        standardised=None if standardised is None else sign * standardised,
        squares=squares,
        needed=SampleSize(float(found.estimate)),
        identical=_same(scores.values[arm, both], scores.values[reference, both]),
        comparisons=1,
    )


def _moderated(
    scores: SettingScores, contributions: np.ndarray, arm: int, reference: int, own: MeanSquares
) -> MeanSquares:
    """The pair's mean squares, that of the seeds moderated by the losses that were trained with the same seeds.

    Losses count once: two decisions of the same weights share their seeds' luck, so the pool is of one decision. An arm
    that lacks seeds of the reference stands on its own, and is not in the pool of the others; nor is one that is much
    less stable than they are.
    """
    decisions = [scores.decision_of.get(name, "") for name in scores.arms]
    seeds = scores.present[reference]
    whole = (scores.present | ~seeds).all(axis=1)
    if decisions[arm] != decisions[reference] or not whole[arm] or seeds.sum() < FEWEST_SEEDS:
        return own
    pool = [at for at, decision in enumerate(decisions) if whole[at] and decision == decisions[reference]]
    found = seed_pool(contributions[pool][:, seeds].mean(axis=-1), own.groups)
    if found.stands_out[pool.index(arm)] or found.stands_out[pool.index(reference)]:
        return own
    return moderated(own, float(found.square), int(found.arms))


def group_differences(
    scores: SettingScores, arm: int, reference: int, groups: Mapping[str, str] | None = None
) -> np.ndarray:
    """(G',) difference of each case or patient, averaged over classes and over the seeds that both have, for ranks.

    A true negative has no value. Where it meets a false alarm of the other loss it is ranked as a flawless score (1
    for a DSC, 0 for a distance), since it is the better of the two; where both have none the cell is left out.
    """
    both = scores.present[arm] & scores.present[reference]
    first, second = scores.values[arm, both], scores.values[reference, both]
    known = ~(np.isnan(first) & np.isnan(second))
    flawless = scores.metric.best
    cells = np.nan_to_num(first, nan=flawless) - np.nan_to_num(second, nan=flawless)
    by_case = _mean_where(cells, known, axis=2)
    by_case = _mean_where(by_case, ~np.isnan(by_case), axis=0)
    codes = group_codes(scores.cases, groups)
    has = ~np.isnan(by_case)
    counts = np.bincount(codes[has], minlength=codes.max() + 1)
    sums = np.bincount(codes[has], weights=by_case[has], minlength=codes.max() + 1)
    return sums[counts > 0] / counts[counts > 0]


def _mean_where(values: np.ndarray, known: np.ndarray, *, axis: int) -> np.ndarray:
    count = known.sum(axis=axis)
    total = np.where(known, values, 0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(np.array_equal(first, second, equal_nan=True))
