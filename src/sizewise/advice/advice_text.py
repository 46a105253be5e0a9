"""An advice in sentences: what to take, why, and how sure that is. Arguments are named between backticks."""

import math
from collections.abc import Sequence

from sizewise.advice.advise import Advice
from sizewise.advice.choice import Difference, difference
from sizewise.advice.evidence_table import EvidenceSet, Kind
from sizewise.advice.leave_one_out import Record, Regret, against, close_share, mean_regret
from sizewise.advice.pieces import pieces_sentences
from sizewise.advice.set_scores import REFERENCE
from sizewise.metrics.arms import Arm, name_arms
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.metrics.registry import METRICS
from sizewise.report.verdict import listed
from sizewise.wording import clock, counted, few

SCALE, UNIT = METRICS["dsc"].scale, METRICS["dsc"].difference
MOST_NAMED = 4


def advice_lines(advice: Advice) -> list[str]:
    """All of it."""
    answer = [f"{what}: {take}. {because}" for what, take, because in answer_rows(advice)]
    sure = (*far_sentences(advice), *certainty(advice), *pieces_sentences(advice), *record_sentences(advice))
    return [*answer, near_sentence(advice), *sure]


def answer_rows(advice: Advice) -> list[tuple[str, str, str]]:
    """What, what to take, and because of what."""
    rows = [("loss", advice.loss, loss_reason(advice))]
    if advice.weight is not None:
        rows.append(("λ", f"{advice.weight:g}", _weight_reason(advice)))
    return [
        *rows,
        ("scope", advice.scope, "As in every run of the evidence, which has compared no other."),
        ("decision", advice.decision, _decision_reason(advice)),
        ("recipe", advice.recipe, _recipe_reason(advice)),
    ]


def loss_reason(advice: Advice) -> str:
    """Who won on the near sets, if anybody did."""
    choice, name = advice.choice, arm_name(advice.kind)
    others = [kind for kind in choice.tied if kind != choice.kind]
    if advice.clear:
        return f"{name} is better than each of the {len(choice.behind) - 1} other arms on the nearest sets."
    if others:
        equal = few([arm_name(kind) for kind in others], most=MOST_NAMED)
        return (
            f"No clear winner: on the nearest sets {name} cannot be told from {equal}, and of these it is the simplest."
        )
    second = min((kind for kind in choice.behind if kind != choice.best), key=lambda kind: choice.behind[kind].estimate)
    return (
        f"No clear winner: {name} is ahead on the nearest sets, by {interval(choice.behind[second])} before "
        f"{arm_name(second)}, but not of every arm is that shown."
    )


def near_sentence(advice: Advice) -> str:
    """Which sets are nearest."""
    named = ", ".join(f"{one.set.name} ({one.distance:.1f})" for one in advice.near)
    return f"Nearest sets, with their distance in standard deviations of the features: {named}."


def far_sentences(advice: Advice) -> list[str]:
    """A warning where the nearest sets are not near."""
    if not advice.far:
        return []
    return [
        "The data set is farther from every set of the evidence than any of these is from the others: take this as a "
        "guess."
    ]


def certainty(advice: Advice) -> list[str]:
    """What is advised against DiceCE with argmax, on the near sets."""
    if advice.kind == REFERENCE:
        return []
    if advice.gain is None:
        return [f"{arm_name(REFERENCE)} was not run on the nearest sets, so nothing can be said against it."]
    shown = "shown" if advice.gain.shown else "not shown"
    parts = [f"{one.set.name} {_on(one.set, advice.kind)}" for one in advice.near]
    pooled = f"Against {arm_name(REFERENCE)} on sets like these: {interval(advice.gain)}, {shown}"
    return [f"{pooled}; one by one: {', '.join(parts)}."]


def record_sentences(advice: Advice) -> list[str]:
    """How such advice did where the answer is known."""
    record = advice.record
    if not record.advice:
        return ["The evidence has too few sets to say how good such advice is."]
    said = f"Each set left out in turn and advised from the others: {record_words(record.advice)}."
    how = (
        "Every loss is at the λ that was chosen on the validation cases of the set itself, and the rules of the advice "
        "were made with these sets in view, which flatters it."
    )
    return [f"{said} {against_words(record)} {how}"]


def against_words(record: Record) -> str:
    """The same of always saying DiceCE, on the sets where that was run."""
    advice, always = against(record)
    if not always:
        return f"{arm_name(REFERENCE)} was run on too few sets to say how always taking it would have done."
    if len(advice) == len(record.advice):
        return f"Always saying {arm_name(REFERENCE)}: {record_words(always)}."
    said = f"Always saying {arm_name(REFERENCE)}, on the {counted(len(always), 'set')} where it was run"
    return f"{said}: {record_words(always)}; the advice there: {record_words(advice)}."


def cost_sentence(advice: Advice, runs: int) -> str:
    """What a pilot study of so many runs takes, as far as it is known."""
    known = [one.set for one in advice.near if one.set.run_seconds and one.set.steps]
    if not known:
        return "What a run costs cannot be known from the evidence."
    one = known[0]
    seconds = one.run_seconds or 0.0
    where = "where you ran it" if one.own else f"on {one.machine or 'the machine of the evidence'}, beside others"
    return (
        f"A pilot of {counted(runs, 'run')}: on {one.name} ({one.model}, {one.steps:,} steps) the training of a run "
        f"took {clock(seconds)} {where}, so {clock(seconds * runs)} for all, one after another. With your images, "
        "network and machine it is known only after a few timed steps, which `dry_run` makes."
    )


def interval(of: Difference) -> str:
    """A difference with its interval, in points.

    >>> interval(Difference(0.012, -0.001, 0.025, 3))
    '+1.2 DSC points (−0.1 to 2.5)'
    >>> interval(Difference(0.012, -math.inf, math.inf, 2))  # of few cases there is none
    '+1.2 DSC points (no interval)'
    """
    if not math.isfinite(of.high - of.low):
        return f"{_signed(of.estimate)} {UNIT} (no interval)"
    return f"{_signed(of.estimate)} {UNIT} ({_number(of.low)} to {_number(of.high)})"


def arm_name(kind: Kind) -> str:
    """As reports call it."""
    return name_arms([Arm(kind.loss, decision=kind.decision)])[0]


def _on(one: EvidenceSet, kind: Kind) -> str:
    """The gain over DiceCE on one set; with its interval where DiceCE is what the set's gains are over."""
    arms, gains = one.chosen(), one.gains()
    if kind not in arms or REFERENCE not in arms:
        return "not run"
    arm, gain = arms[kind], _signed(gains[kind] - gains[REFERENCE])
    if arm.low is None or arm.high is None or arms[REFERENCE].gain != 0:
        return gain
    return f"{gain} ({_number(arm.low)} to {_number(arm.high)})"


def _weight_reason(advice: Advice) -> str:
    tried: dict[str, list[str]] = {}
    for one in advice.near:
        weights = {arm.weight for arm in one.set.arms if arm.loss == advice.loss and arm.weight}
        if len(weights) > 1:
            tried[one.set.name] = sorted(weights, key=float)
    if not tried:
        return "The loss's own; the nearest sets have tried no other."
    values = ", ".join(sorted({weight for weights in tried.values() for weight in weights}, key=float))
    where = listed(list(tried))
    return f"Of {values}, the best on average on the validation cases of {where}; try its neighbours on yours."


def _decision_reason(advice: Advice) -> str:
    decided = next(
        (kind for kind in advice.choice.behind if kind.loss == advice.loss and kind.decision != ARGMAX), None
    )
    if decided is None:
        return "No other decision was scored on the nearest sets."
    found = difference(advice.near, decided, Kind(advice.loss))
    if found is None:
        return "No other decision was scored on the nearest sets."
    change = f"decided for {decided.decision} the same networks score {interval(found)} there"
    if advice.decision != ARGMAX:
        return f"It costs no training: {change}."
    return f"The simplest; {change}{', which is not shown' if not found.shown else ''}."


def _recipe_reason(advice: Advice) -> str:
    if advice.recipe == "picture":
        return "For pictures with an upright; any-way-up for those without one, as cells, skin or retina."
    return "What the layout or the dimensions of the data ask for; the evidence compares none."


def record_words(regrets: Sequence[Regret]) -> str:
    """How often close to the best, and how far behind it on average."""
    close, count = close_share(regrets)
    behind = f"{SCALE * mean_regret(regrets):.2f} behind it on average"
    return f"within 0.5 {UNIT} of the best arm on {close} of {count}, {behind}"


def _number(value: float) -> str:
    return f"{round(SCALE * value, 1) + 0.0:.1f}".replace("-", "−")


def _signed(value: float) -> str:
    return f"{round(SCALE * value, 1) + 0.0:+.1f}".replace("-", "−")
