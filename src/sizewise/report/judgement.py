"""Whether a comparison can be judged at all, and whether it shows a difference: not tested is not «no difference»."""

from sizewise.study.statistics.paired import FEWEST_GROUPS, Comparison
from sizewise.study.statistics.sentences import BETTER, NOT_SHOWN, WORSE

UNTESTED = "not testable"
TICKS = {BETTER: "✓", WORSE: "✗"}


def judge(one: Comparison, *, from_elsewhere: bool = False) -> str:
    """Better, worse, not shown, or not testable.

    Args:
        one: the comparison.
        from_elsewhere: these are predictions that were handed in. A single set of each is judged as such: which of
            them fits new cases better can be shown, whatever another training would do.
    """
    single = from_elsewhere and one.seeds == 1
    if one.groups < FEWEST_GROUPS or one.identical or (one.refused and not single):
        return UNTESTED
    if not (one.p_holm < 0.05 if single else one.shown):
        return NOT_SHOWN
    return BETTER if one.gain > 0 else WORSE
