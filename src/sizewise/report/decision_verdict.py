"""What decisions of the same weights change, in words."""

from collections.abc import Mapping, Sequence

from sizewise.report.verdict import CANNOT, VerdictGroup, capital
from sizewise.study.statistics.paired import Comparison
from sizewise.study.statistics.sentences import BETTER, NOT_SHOWN, ONE_SEED, WORSE, verdicts
from sizewise.wording import listed

TITLE = "Decisions of the same networks"
METHOD = (
    "A decision is how labels are drawn from a network's probabilities: CE (dice) is the networks of CE, decided for "
    "Dice instead of by argmax, with a temperature from their validation cases. Decisions are compared with argmax of "
    "the same networks: the intervals are of differences within runs, which the luck of training does not blur, and "
    "the correction is for these comparisons alone. Losses are compared with the reference decided by argmax."
)


def decision_verdicts(by_setting: Mapping[str, Sequence[Comparison]]) -> list[VerdictGroup]:
    """One group for each setting that has decisions; its title names the setting where there are several."""
    return [
        _group(f"{TITLE} on {setting}" if len(by_setting) > 1 else TITLE, found)
        for setting, found in by_setting.items()
    ]


def _group(title: str, found: Sequence[Comparison]) -> VerdictGroup:
    spoken = verdicts(found)
    claims = [one.sentence for one in spoken if one.kind in (BETTER, WORSE)]
    others = [
        capital(one.sentence) if one.kind in (NOT_SHOWN, ONE_SEED) else one.sentence
        for one in spoken
        if one.kind not in (BETTER, WORSE)
    ]
    parts = []
    for kind, word in ((BETTER, "better"), (WORSE, "worse")):
        if names := [one.comparison.arm for one in spoken if one.kind == kind]:
            parts.append(f"{listed(names)} {'is' if len(names) == 1 else 'are'} {word}")
    lead = f"{'; '.join(parts)} than argmax of the same networks." if parts else "No decision can be shown to matter."
    return VerdictGroup(title, lead, claims, others, CANNOT)
