"""Where every arm of a data set stands: from best to worst, with what is shown, and who cannot be told apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sizewise.report.judgement import TICKS, UNTESTED, judge
from sizewise.study.statistics.all_pairs import compare_pairs, tied_runs
from sizewise.study.statistics.paired import Comparison
from sizewise.study.statistics.sentences import BETTER, NOT_SHOWN, WORSE
from sizewise.study.statistics.setting_scores import SettingScores

MOST_ARMS = 40  # of more, 780 pairs would be compared: slow, and corrected so much that little could be shown
TURNED = {BETTER: WORSE, WORSE: BETTER}


@dataclass(frozen=True)
class Standing:
    """The arms of one data set and model.

    Attributes:
        reference: what they are compared with; empty where it is not among them.
        means: by arm, best first: the score, in the unit of the metric, unscaled.
        to_reference: by arm, the comparison with the reference.
        words: by pair (one, other): whether one is better, worse, not shown or not testable.
        ties: (first, last) places between which no two arms can be told apart.
    """

    reference: str
    means: Mapping[str, float]
    to_reference: Mapping[str, Comparison]
    words: Mapping[tuple[str, str], str]
    ties: Sequence[tuple[int, int]]

    @property
    def arms(self) -> list[str]:
        """Best first."""
        return list(self.means)

    def tick(self, arm: str) -> str:
        """✓ of an arm that is shown better than the reference, ✗ of one that is shown worse, else empty."""
        return TICKS.get(self.words.get((arm, self.reference), ""), "")

    def against(self, arm: str, word: str) -> list[str]:
        """The arms, best first, against which ``arm`` is ``word``."""
        return [other for other in self.means if self.words.get((arm, other)) == word]


def stand(
    scores: SettingScores,
    reference: str,
    compared: Sequence[Comparison],
    *,
    groups: Mapping[str, str] | None = None,
    from_elsewhere: bool = False,
) -> Standing:
    """Order the arms by their mean, and judge every two of them.

    A pair that the study compares anyway, with the reference or as two decisions of the same networks, is judged by
    that comparison; every other pair by one of its own, corrected for all such pairs.

    Args:
        scores: what ``arrange`` returned.
        reference: what the study compares with.
        compared: what it compares on this data set and model.
        groups: the group of each case.
        from_elsewhere: see :func:`sizewise.report.judgement.judge`.
    """
    of_runs = np.where(scores.present, scores.class_means().mean(axis=-1), np.nan)
    found = {arm: float(np.nanmean(runs)) for arm, runs in zip(scores.arms, of_runs, strict=True)}
    ordered = sorted(found, key=lambda arm: -scores.metric.sign * found[arm])
    known = {frozenset((one.arm, one.reference)): one for one in compared}
    pairs = [*known.values()]
    if len(ordered) <= MOST_ARMS:
        pairs += compare_pairs(scores, groups=groups, but=known)
    words: dict[tuple[str, str], str] = {}
    for one in pairs:
        word = judge(one, from_elsewhere=from_elsewhere)
        words[one.arm, one.reference] = word
        words[one.reference, one.arm] = TURNED.get(word, word)
    return Standing(
        reference if reference in found else "",
        {arm: found[arm] for arm in ordered},
        {one.arm: one for one in compared if one.reference == reference},
        words,
        tied_runs(ordered, lambda one, other: words.get((one, other), UNTESTED) == NOT_SHOWN),
    )
