"""The verdict as the report shows it: what is claimed first, then what cannot be."""

from collections.abc import Sequence
from dataclasses import dataclass

from sizewise.report.judgement import UNTESTED, judge
from sizewise.report.standing import Standing
from sizewise.study.statistics.paired import FEWEST_GROUPS, FEWEST_SEEDS, Comparison
from sizewise.study.statistics.sentences import BETTER, NOT_SHOWN, ONE_SEED, WORSE, verdicts
from sizewise.wording import listed

NAMED = 4  # arms in a sentence before it says how many more there are
CANNOT = "What cannot be shown"
ABOUT_PREDICTIONS = (
    "This is about these very predictions, on new cases: the same models trained once more may do otherwise. To "
    "compare the models themselves, give the predictions of several training runs of each."
)


@dataclass(frozen=True)
class VerdictGroup:
    """The verdict on one data set and model, or over all.

    Attributes:
        title: which; empty where there is one.
        lead: the main sentence.
        claims: what is shown, with its intervals.
        sentences: what is not shown, or notes.
        details: what the sentences are.
    """

    title: str
    lead: str
    claims: Sequence[str] = ()
    sentences: Sequence[str] = ()
    details: str = "Notes"


def verdict_of(
    title: str, reference: str, found: Sequence[Comparison], *, what: str = "loss", standing: Standing | None = None
) -> VerdictGroup:
    """What the comparisons with the reference show on one data set and model.

    Args:
        title: which.
        reference: what all are compared with.
        found: the comparisons.
        what: is compared: loss, model or arm.
        standing: where every arm stands among the others; None: it is not told.
    """
    spoken = verdicts(found)
    better = [one.comparison.arm for one in spoken if one.kind == BETTER]
    worse = [one.comparison.arm for one in spoken if one.kind == WORSE]
    claims = [one.sentence for one in spoken if one.kind in (BETTER, WORSE)]
    others = [
        capital(one.sentence) if one.kind in (NOT_SHOWN, ONE_SEED) else one.sentence
        for one in spoken
        if one.kind not in (BETTER, WORSE)
    ]
    said = _lead(better, worse, reference, what, [one for one in found if judge(one) == UNTESTED], len(found))
    return VerdictGroup(title, f"{said} {advice(better, reference, found, standing)}".strip(), claims, others, CANNOT)


def advice(better: Sequence[str], reference: str, found: Sequence[Comparison], standing: Standing | None = None) -> str:
    """Which one to take, and how sure that is; nothing where there is too little for a verdict on any.

    Args:
        better: those that are shown better than the reference.
        reference: what all are compared with.
        found: the comparisons.
        standing: where every arm stands among the others.
    """
    tested = sorted((one for one in found if not one.refused), key=lambda one: -one.gain)
    if not tested:
        return ""
    top = tested[0]
    ahead = f"{abs(_points(top.estimate, top)):.1f} {top.metric.difference}"
    if better:
        best = next(one.arm for one in tested if one.arm in better)
        if best == top.arm:
            return f"Take {best}: it has the best mean too{_among(best, reference, standing)}."
        return f"Take {best}; {top.arm} has the best mean, but is not shown better than {reference}."
    if top.gain > 0:
        return f"{top.arm} has the best mean, by {ahead}, which may be luck."
    return f"{reference} has the best mean, so there is no reason to leave it."


def _among(best: str, reference: str, standing: Standing | None) -> str:
    """How the best stands to those that are not the reference."""
    if standing is None:
        return ""
    beaten = [arm for arm in standing.against(best, BETTER) if arm != reference]
    tied = standing.against(best, NOT_SHOWN)
    parts = [f", and is shown better than {listed(beaten, most=NAMED)} as well"] if beaten else []
    parts += [f"{'; it' if beaten else ', but it'} is not shown better than {listed(tied, most=NAMED)}"] if tied else []
    return "".join(parts)


def verdict_of_predictions(title: str, reference: str, found: Sequence[Comparison]) -> VerdictGroup:
    """The same for one set of predictions each, made elsewhere: which of them fits new cases better can be shown.

    With one training run nothing can be said of the recipe behind it, but somebody who chooses between two sets of
    predictions, or two trained networks, asks about these.
    """
    words = {one.arm: judge(one, from_elsewhere=True) for one in found}
    shown = [one for one in found if words[one.arm] in (BETTER, WORSE)]
    shown.sort(key=lambda one: -one.gain)
    claims = [
        f"{one.arm} scores {abs(_points(one.estimate, one)):.2f} {one.metric.difference} "
        f"{'more' if one.estimate > 0 else 'less'} than {reference}, {_interval(one)}."
        for one in shown
    ]
    rest = [one for one in found if one not in shown]
    spoken = {each.comparison.arm: each for each in verdicts(rest)}
    others = []
    for one in rest:
        if spoken[one.arm].kind == ONE_SEED:
            others.append(f"No difference can be shown between {one.arm} and {reference}: {_interval(one)}.")
        else:
            others.append(spoken[one.arm].sentence)
    better, worse = ([one.arm for one in shown if words[one.arm] == word] for word in (BETTER, WORSE))
    untested = [one for one in found if words[one.arm] == UNTESTED]
    lead = _lead(better, worse, reference, "model", untested, len(found))
    return VerdictGroup(title, lead, claims, [*others, ABOUT_PREDICTIONS], "What cannot be said")


def capital(sentence: str) -> str:
    """The sentence with a capital at its start.

    >>> capital("no difference")
    'No difference'
    """
    return sentence[:1].upper() + sentence[1:]


def _lead(
    better: Sequence[str],
    worse: Sequence[str],
    reference: str,
    what: str,
    untested: Sequence[Comparison],
    count: int,
) -> str:
    parts = []
    if better:
        parts.append(f"{listed(better)} {'is' if len(better) == 1 else 'are'} better than {reference}")
    if worse:
        than = "" if better else f" than {reference}"
        parts.append(f"{listed(worse)} {'is' if len(worse) == 1 else 'are'} worse{than}")
    if all(one.identical for one in untested) and len(untested) == count:
        return f"No {what} differs from {reference}: the scores are the same in every case."
    if len(untested) == count:
        return f"Nothing could be tested: {_why_untested(untested[0])}. That is not the same as no difference."
    said = "; ".join(parts) + "." if parts else f"No {what} can be shown to differ from {reference}."
    left = [one.arm for one in untested if not one.identical]
    return f"{said} {listed(left, most=NAMED)} could not be tested." if left else said


def _why_untested(one: Comparison) -> str:
    if one.identical:
        return "the scores are the same in every case"
    if one.groups < FEWEST_GROUPS:
        return f"{one.groups} {'case' if one.groups == 1 else 'cases'} of the {FEWEST_GROUPS} that it takes"
    return f"one seed, where it takes {FEWEST_SEEDS} and better 3" if one.seeds < FEWEST_SEEDS else "too little data"


def _points(value: float, one: Comparison) -> float:
    return one.metric.scale * value


def _interval(one: Comparison) -> str:
    low, high = (f"{_points(end, one):+.2f}".replace("-", "−") for end in (one.low, one.high))
    units = f"{one.groups} cases" if one.groups == one.cases else f"{one.cases} cases of {one.groups} groups"
    return f"{low} to {high} {one.metric.difference} (95 % interval over new cases; {units})"
