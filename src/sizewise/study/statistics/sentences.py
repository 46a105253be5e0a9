"""What can be said, in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass

from sizewise.study.statistics.paired import FEWEST_GROUPS, FEWEST_SEEDS, Comparison
from sizewise.study.statistics.sample_size import most_times

BETTER, WORSE, NOT_SHOWN, ONE_SEED, TOO_FEW_CASES, IDENTICAL = (
    "better",
    "worse",
    "not shown",
    "one seed",
    "too few cases",
    "identical",
)


@dataclass(frozen=True)
class Verdict:
    """A comparison in words.

    Attributes:
        kind: better, worse, not shown, one seed, too few cases, identical.
        sentence: to print.
        comparison: what it is about.
    """

    kind: str
    sentence: str
    comparison: Comparison


def verdict(comparison: Comparison) -> Verdict:
    """Say what one comparison shows. A difference is claimed only where ``comparison.shown``."""
    kind = _kind(comparison)
    return Verdict(kind, _SENTENCES[kind](comparison), comparison)


def verdicts(comparisons: Sequence[Comparison]) -> list[Verdict]:
    """One verdict per comparison: what is shown first, the largest gain first within it."""
    order = {BETTER: 0, WORSE: 1}
    said = [verdict(comparison) for comparison in comparisons]
    return sorted(said, key=lambda each: (order.get(each.kind, 2), -each.comparison.gain))


def _kind(c: Comparison) -> str:
    if c.identical:
        return IDENTICAL
    if c.groups < FEWEST_GROUPS:
        return TOO_FEW_CASES
    if c.seeds < FEWEST_SEEDS:
        return ONE_SEED
    if c.shown:
        return BETTER if c.gain > 0 else WORSE
    return NOT_SHOWN


def _shown(c: Comparison) -> str:
    word = "better" if c.gain > 0 else "worse"
    return f"{c.arm} is {word} than {c.reference} by {_size(c)} (95 % interval; {_counts(c)})."


def _not_shown(c: Comparison) -> str:
    first = (
        f"no difference can be shown between {c.arm} and {c.reference}: {_size(c, signed=True)} (95 % interval; "
        f"{_counts(c)})"
    )
    if c.p_value < 0.05:
        first += (
            f"; this interval alone leaves out 0, but among {c.comparisons} comparisons one does so by chance too often"
        )
    return f"{first}. {_needed(c)}"


def _needed(c: Comparison) -> str:
    if c.needed.seeds is not None and c.needed.seeds > c.seeds:
        return f"If the difference is as large as it looks, {_more_seeds(c)} would be needed to show it."
    if c.needed.seeds is not None:
        return "If the difference is as large as it looks, another study of this size would probably show it."
    group = _word(c)
    if c.needed.groups is not None:
        return (
            f"More seeds cannot help, the {group}s are the limit: if the difference is as large as it looks, about "
            f"{c.needed.groups} {group}s would be needed to show it."
        )
    if c.needed.times is not None:
        return (
            f"More seeds alone or more {group}s alone cannot show it: if the difference is as large as it looks, it "
            f"takes about {c.needed.times * c.seeds} seeds and {c.needed.times * c.groups:,} {group}s."
        )
    return (
        f"It is too small to show: {most_times(c.seeds)} times as many seeds and {group}s would not do, if it is no "
        "larger than it looks."
    )


def _more_seeds(c: Comparison) -> str:
    """A range, as few seeds know their own spread only roughly; it holds the truth in every second study."""
    fewest = max(1, (c.needed.fewest_seeds or 0) - c.seeds)
    if c.needed.most_seeds is None:
        return f"at least {fewest} more seed{_s(fewest)}"
    most = c.needed.most_seeds - c.seeds
    return f"about {fewest} more seed{_s(most)}" if fewest == most else f"about {fewest} to {most} more seeds"


def _one_seed(c: Comparison) -> str:
    return (
        f"one seed cannot separate {c.arm} from luck: run at least 3. On these {c.groups} {_word(c)}s this run of "
        f"{c.arm} scores {_number(c.estimate, c, signed=True)} {c.metric.difference} against this run of {c.reference}."
    )


def _too_few(c: Comparison) -> str:
    return (
        f"{c.groups} {_word(c)}{_s(c.groups)} {'is' if c.groups == 1 else 'are'} too few to compare {c.arm} with "
        f"{c.reference}: at least {FEWEST_GROUPS} are needed. The means differ by "
        f"{_number(c.estimate, c, signed=True)} {c.metric.difference} ({_counts(c)})."
    )


def _identical(c: Comparison) -> str:
    return (
        f"{c.arm} and {c.reference} give the same {c.metric.label} in every case ({_counts(c)}); are they the same "
        "predictions?"
    )


def _size(c: Comparison, *, signed: bool = False) -> str:
    """Estimate and interval; unsigned where a word says the direction, so that both ends are of the gain."""
    low, high = c.low, c.high
    if signed:
        return (
            f"{_number(c.estimate, c, signed=True)} {c.metric.difference} "
            f"[{_number(low, c, signed=True)}, {_number(high, c, signed=True)}]"
        )
    if c.estimate < 0:
        low, high = -high, -low
    return f"{_number(abs(c.estimate), c)} {c.metric.difference} [{_number(low, c)}, {_number(high, c)}]"


def _number(value: float, c: Comparison, *, signed: bool = False) -> str:
    """Enough digits that the smaller end of the interval, where one is shown, is not lost, and no minus zero."""
    scaled = value * c.metric.scale
    shown = (c.estimate,) if c.refused else (c.low, c.high, c.estimate)
    ends = [abs(end) * c.metric.scale for end in shown if end]
    digits = 1 if not ends or min(ends) >= 0.05 else 2 if min(ends) >= 0.005 else 3
    text = f"{scaled:{'+' if signed else ''}.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def _counts(c: Comparison) -> str:
    counts = f"{c.seeds} seed{_s(c.seeds)}, {c.cases} case{_s(c.cases)}"
    return counts if c.groups == c.cases else f"{counts} of {c.groups} group{_s(c.groups)}"


def _word(c: Comparison) -> str:
    return "case" if c.groups == c.cases else "group"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


_SENTENCES = {
    BETTER: _shown,
    WORSE: _shown,
    NOT_SHOWN: _not_shown,
    ONE_SEED: _one_seed,
    TOO_FEW_CASES: _too_few,
    IDENTICAL: _identical,
}
