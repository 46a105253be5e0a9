"""The answer in a few sentences; which sentence stands there is decided by the numbers."""

from statistics import median

from sections.contrasts import GAIN, Contrast, contrast
from sections.ranks import main_arms
from sections.study import MAIN, EvidenceSet
from sections.wording import on_sets, points, signed
from sizewise.errors import BadInput
from sizewise.study.statistics.critical_difference import critical_difference


def answer(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """What a reader takes away."""
    loss = contrast(sets, "DiceCE", "CE")
    if loss is None:
        return ["There are not yet enough runs of CE and DiceCE to say anything.", ""]
    decision = contrast(sets, "CE (dice)", "CE")
    left = contrast(sets, "DiceCE (dice)", "CE (dice)")
    taken = contrast(sets, "CE", "DiceCE", metric=GAIN)
    instead = contrast(sets, "CE (dice)", "DiceCE")
    sentences = [
        _needed(loss),
        _decision(decision) if decision else "",
        _left(loss, left, taken) if left and taken else "",
        _instead(instead) if instead else "",
        _sizes(contrast(sets, "RCE-L1", "DiceCE"), contrast(sets, "RCE-L1", "DiceCE", metric="size_error")),
        _beside_dice(sets),
        best_rank(sets),
        _limits(loss),
    ]
    return [*(f"- {one}" for one in sentences if one), ""]


def _needed(one: Contrast) -> str:
    claim = {
        "better": f"**A Dice term in the loss helps{_how_far(one)}.**",
        "worse": f"**A Dice term in the loss costs{_how_far(one)}.**",
        "not shown": "**That a Dice term in the loss helps is not shown.**",
    }[one.word]
    return f"{claim} With argmax, DiceCE scores {points(one)} than CE {_sets(one)}; {_where(one)}."


def _decision(one: Contrast) -> str:
    claim = {
        "better": f"**Deciding for Dice, without training anything again, helps CE{_how_far(one)}.**",
        "worse": f"**Deciding for Dice costs CE{_how_far(one)}.**",
        "not shown": "**That deciding for Dice helps CE is not shown.**",
    }[one.word]
    return f"{claim} The same networks score {points(one)} than by argmax {_sets(one)}; {_where(one)}."


def _left(before: Contrast, left: Contrast, taken: Contrast) -> str:
    """What of DiceCE's advantage is left once both are decided for Dice."""
    told = f"Once both are decided for Dice, DiceCE scores {points(left)} than CE; {_where(left)}."
    if before.word != "better":
        return told
    scale = taken.usable[0].metric.scale
    share, size = 100 * taken.estimate / before.estimate, scale * taken.estimate
    ends = f"{signed(scale * taken.low)} to {signed(scale * taken.high)}".replace("+", "")
    if taken.word != "better":
        return f"{told} That the decision takes anything of its advantage is not shown ({size:.2f} points, {ends})."
    return f"{told} The decision takes {size:.2f} points ({ends}) of its advantage by argmax, {share:.0f} % of it."


def _instead(one: Contrast) -> str:
    told = f"CE decided for Dice scores {points(one)} than DiceCE by argmax"
    end = {
        "better": "the decision does more than the Dice term",
        "worse": "the decision does less than the Dice term",
        "not shown": "which of the two does more cannot be told",
    }[one.word]
    return f"{told}: {end}."


def _sizes(dsc: Contrast | None, size: Contrast | None) -> str:
    """Whether a penalty on sizes keeps them nearer, and at what price."""
    if dsc is None or size is None:
        return ""
    nearer = {
        "better": "keeps sizes nearer than DiceCE",
        "worse": "keeps sizes less near than DiceCE",
        "not shown": "is not shown to keep sizes nearer than DiceCE",
    }[size.word]
    scale = size.usable[0].metric.scale
    turn = "but" if (size.word, dsc.word) in (("better", "worse"), ("worse", "better")) else "and"
    price = f"{turn} scores, not shown to differ," if dsc.word == "not shown" else f"{turn} scores"
    return (
        f"The size penalty of RCE-L1 {nearer} (mean |size error| {signed(scale * size.estimate, 3)} points of the "
        f"image, {signed(scale * size.low, 3)} to {signed(scale * size.high, 3)}) {price} {points(dsc)}."
    )


def _beside_dice(sets: tuple[EvidenceSet, ...]) -> str:
    """The other main losses against DiceCE, by argmax."""
    words: dict[str, list[str]] = {"better": [], "worse": [], "not shown": []}
    for loss in MAIN:
        found = contrast(sets, loss, "DiceCE") if loss not in ("CE", "DiceCE") else None
        if found is not None:
            words[found.word].append(f"{loss} ({signed(found.gain)})")
    told = {"better": "better than it", "worse": "worse", "not shown": "not told from it"}
    parts = [f"{told[word]}: {', '.join(losses)}" for word, losses in words.items() if losses]
    return f"Against DiceCE by argmax, in DSC points on average over the sets, {'; '.join(parts)}." if parts else ""


def best_rank(sets: tuple[EvidenceSet, ...]) -> str:
    """The best mean rank over the sets, of the main losses under either decision."""
    try:
        found = critical_difference(main_arms(sets))
    except BadInput:
        return ""
    first, rank = found.arms[0], found.mean_ranks[0]
    apart = [arm for at, arm in enumerate(found.arms) if found.p_values[0, at] < 0.05]
    if found.mean_ranks[1] == rank:
        first = f"{first}, with others,"
    told = f"Of {len(found.arms)} arms {first} has the best mean rank over {found.data_sets} sets ({rank:.1f})"
    if not apart:
        return f"{told}; Nemenyi's test tells it from none of the others."
    return f"{told}; Nemenyi's test tells it from {', '.join(apart)}, and from none of the others."


def _how_far(one: Contrast) -> str:
    """A mean over these sets may not be what other sets would show."""
    if one.elsewhere:
        return ""
    why = "are too few" if one.other_low is None else "differ too much"
    return f" on these sets, which {why} to expect it of others"


def _where(one: Contrast) -> str:
    better, worse, of = one.shown(1), one.shown(-1), len(one.usable)
    told = f"shown better {on_sets(better, of)}, worse {on_sets(worse, of)}"
    return f"{told} (of {of})" if of > 1 else told


def _sets(one: Contrast) -> str:
    if one.sets == 1:
        return f"on {one.usable[0].data}, the one set with enough runs"
    scale = one.usable[0].metric.scale
    by_size = sorted((scale * found.estimate, title) for title, found in one.by_set.items() if not found.refused)
    (least, first), (most, last) = by_size[0], by_size[-1]
    middle = signed(median(size for size, _ in by_size))
    ends = f"from {signed(least)} on {first} to {signed(most)} on {last}"
    return f"on average over {one.sets} sets, {ends} with a median of {middle}"


def _limits(one: Contrast) -> str:
    seeds = sorted({each.seeds for each in one.usable})
    told = " to ".join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))
    return (
        f"This rests on {told} seeds a set, one network and one short protocol for each, and λ from a small grid with "
        "one seed: other networks, longer training and other sets may answer otherwise."
    )
