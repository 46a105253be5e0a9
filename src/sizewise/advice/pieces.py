"""Many pieces of one class in a case: what counting each of them did on the near sets, beside the advice.

DSC hardly knows small pieces, so the advice, which goes by DSC, does not either. ``CC-DiceCE`` is CE + Dice + Dice per
component; its partner is the arm of DiceCE with the same λ = 1, from which it differs in that term alone.
"""

from collections.abc import Sequence

from sizewise.advice.advise import Advice
from sizewise.advice.evidence_table import ArmScore, EvidenceSet
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.metrics.registry import METRICS
from sizewise.report.verdict import listed

MANY = 3.0  # pieces of a class in a case, on average
PER_PIECE, PARTNER = ("CC-DiceCE", ("", "1")), ("DiceCE", ("1",))
SCALE = METRICS["dsc"].scale


def pieces_sentences(advice: Advice) -> list[str]:
    """What a loss per component found and what it made up, where the data has many pieces; else nothing."""
    many = advice.features.components
    if many is None or many < MANY or advice.loss == PER_PIECE[0]:
        return []
    pairs = {one.set.name: pair for one in advice.near if (pair := _pair(one.set))}
    if not pairs:
        return []
    found, true, dsc = (
        _mean_difference(list(pairs.values()), name) for name in ("component_recall", "component_precision", "dsc")
    )
    return [
        f"A class has {many:.3g} pieces in a case. On {listed(list(pairs))} {PER_PIECE[0]}, which counts every piece "
        f"the same, found {_points(found)} of them than DiceCE with the same λ, and {_points(true)} of those that it "
        f"drew were true; its DSC differed by {_signed(dsc)} points. Take it where a missed piece costs more than a "
        "false one."
    ]


def _pair(one: EvidenceSet) -> tuple[ArmScore, ArmScore] | None:
    """Both arms, by argmax, where components were scored."""
    ours, other = (_arm(one, *of) for of in (PER_PIECE, PARTNER))
    return None if ours is None or other is None else (ours, other)


def _arm(one: EvidenceSet, loss: str, weights: Sequence[str]) -> ArmScore | None:
    for arm in one.arms:
        scored = arm.component_recall is not None and arm.component_precision is not None
        if arm.loss == loss and arm.weight in weights and arm.decision == ARGMAX and arm.seeds > 1 and scored:
            return arm
    return None


def _mean_difference(pairs: Sequence[tuple[ArmScore, ArmScore]], name: str) -> float:
    return sum(getattr(ours, name) - getattr(other, name) for ours, other in pairs) / len(pairs)


def _signed(difference: float) -> str:
    return f"{SCALE * difference:+.1f}".replace("-", "−")


def _points(difference: float) -> str:
    """«12.8 points more».

    >>> _points(0.128), _points(-0.085)
    ('12.8 points more', '8.5 points fewer')
    """
    return f"{abs(SCALE * difference):.1f} points {'more' if difference >= 0 else 'fewer'}"
