"""From what each change would give to what to change first: the decision, the loss or the network."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sizewise.diagnosis.case_measure import DICE, FITTED, MATCHED, NOW, SIZES
from sizewise.diagnosis.collected import Gain

Step = Literal["decision", "fitted decision", "loss", "network", "nothing", "probabilities"]
WORTH = 0.005  # of DSC: below half a point nothing is worth a change


@dataclass(frozen=True)
class Advice:
    """What to do first, in one sentence, and what speaks for it."""

    step: Step
    sentence: str
    reasons: tuple[str, ...]


def advise(gains: Mapping[str, Gain], *, relative_size: float) -> Advice:
    """The advice.

    A gain counts where it is half a DSC point or more and above twice its standard error over cases. Decisions come
    first, as they cost nothing; then sizes, which a loss can correct; what is left is for the network.

    Args:
        gains: of each question, over all classes.
        relative_size: the size error as a share of the true size, its mean over classes: which way sizes err.
    """
    reasons = tuple(_reasons(gains))
    now, matched = gains[NOW], gains[MATCHED]
    if now.dsc > 1 - WORTH:
        return Advice("nothing", f"Nothing here is worth a change: the DSC is {100 * now.dsc:.2f} %.", reasons)
    if SIZES not in gains:
        lost_by_size, lost_by_place = 1 - matched.dsc, matched.dsc - now.dsc
        larger = "the sizes matter" if lost_by_size > lost_by_place else "where the regions lie matters"
        return Advice(
            "probabilities",
            f"Save probabilities and diagnose again, to see whether the decision, the loss or the network is to be "
            f"changed: of the {100 * (1 - now.dsc):.1f} DSC points that are missing, {100 * lost_by_size:.1f} are lost "
            f"by wrong sizes and {100 * lost_by_place:.1f} by wrong places, so {larger} more.",
            reasons,
        )
    decided: Step = "decision"
    best = gains[DICE]
    if FITTED in gains and gains[FITTED].gain > best.gain - WORTH:  # what was fitted on other cases holds on new ones
        decided, best = "fitted decision", gains[FITTED]
    if _counts(best):
        how = "at a fitted temperature " if decided == "fitted decision" else ""
        return Advice(
            decided,
            f"Change the decision first: the same network decided for Dice {how}gives {points(best)} DSC points more.",
            reasons,
        )
    sizes = gains[SIZES]
    if _counts(sizes) and 2 * sizes.gain >= matched.gain:
        way = "too small" if relative_size < 0 else "too large"
        return Advice(
            "loss",
            f"Change the loss: regions are {100 * abs(relative_size):.1f} % {way} on average, the true sizes would "
            f"give {points(sizes)} DSC points from the same probabilities, and the decision gives {points(best)}.",
            reasons,
        )
    if _counts(matched):
        return Advice(
            "network",
            f"Change the network, its data or its training: the sizes are not what is wrong (the true ones would give "
            f"{points(sizes)} DSC points), but where the regions lie ({points(matched)}).",
            reasons,
        )
    if max(one.gain for one in gains.values()) >= WORTH:
        return Advice(
            "nothing", "Change nothing yet: no gain is above twice its standard error. Diagnose more cases.", reasons
        )
    return Advice("nothing", "Nothing here is worth a change: no part gives half a DSC point or more.", reasons)


def _reasons(gains: Mapping[str, Gain]) -> list[str]:
    words = {
        DICE: "Decided for Dice",
        FITTED: "Decided for Dice at a fitted temperature",
        SIZES: "With the true sizes, from the same probabilities",
        MATCHED: "With perfect places, at the predicted sizes",
    }
    return [f"{words[name]}: {points(one)} DSC points." for name, one in gains.items() if name in words]


def _counts(one: Gain) -> bool:
    return one.gain >= WORTH and one.shown


def points(one: Gain) -> str:
    """A gain with its standard error.

    >>> points(Gain(0.9, 0.0123, 0.002)), points(Gain(0.9, -0.001, float("nan")))
    ('+1.23 ± 0.20', '−0.10')
    """
    spread = "" if one.error != one.error else f" ± {100 * one.error:.2f}"
    return f"{100 * one.gain:+.2f}".replace("-", "−") + spread
