"""CE or DiceCE, argmax or decided for Dice: how much of Dice's advantage is in the loss, how much in the decision."""

from collections.abc import Sequence

import numpy as np

from sections.contrasts import GAIN, contrast
from sections.study import DECIDED, EvidenceSet
from sections.wording import difference, mean_difference, other_sets, table
from sizewise.report.formatted_table import Cell, Table, ranked
from sizewise.report.means import overall_means
from sizewise.wording import counted

ARMS = ("CE", "CE (dice)", "DiceCE", "DiceCE (dice)")
# Each column of differences: what it says, the one, the other, of what.
STEPS = (
    ("loss, by argmax: DiceCE − CE", "DiceCE", "CE", "dsc"),
    ("decision, of CE: dice − argmax", "CE (dice)", "CE", "dsc"),
    ("decision, of DiceCE: dice − argmax", "DiceCE (dice)", "DiceCE", "dsc"),
    ("loss, decided for Dice: DiceCE − CE", "DiceCE (dice)", "CE (dice)", "dsc"),
    ("what the decision takes of the loss's step", "CE", "DiceCE", GAIN),
    ("CE decided for Dice − DiceCE by argmax", "CE (dice)", "DiceCE", "dsc"),
)


def two_by_two(sets: tuple[EvidenceSet, ...], also: tuple[EvidenceSet, ...] = ()) -> list[str]:
    """Two tables: the scores, and what each step of the square adds.

    Args:
        sets: what the means are over.
        also: the same sets read otherwise, shown below and in no mean.
    """
    with_both = tuple(one for one in sets if _complete(one))
    if not with_both:
        return ["No set has runs of both CE and DiceCE yet.", ""]
    shown = (*with_both, *(one for one in also if _complete(one)))
    return [*table(_scores(with_both, shown)), *table(_steps(with_both, shown))]


def _complete(one: EvidenceSet) -> bool:
    return one.dsc is not None and all(arm in one.dsc.arms for arm in ARMS)


def _scores(sets: tuple[EvidenceSet, ...], shown: tuple[EvidenceSet, ...]) -> Table:
    found = {one.title: arm_means(one) for one in shown}
    rows = []
    for title, means in found.items():
        rows.append(_row(title, [means[arm].mean for arm in ARMS], [means[arm].text(scale=100) for arm in ARMS]))
    overall = [float(np.mean([found[one.title][arm].mean for one in sets])) for arm in ARMS]
    rows.insert(len(sets), _row(f"mean of {len(sets)}", overall, [f"{100 * value:.2f}" for value in overall]))
    heads = ["DSC (%)", "CE, argmax", "CE, dice", "DiceCE, argmax", "DiceCE, dice"]
    note = (
        "Mean over cases, then classes, ± standard deviation over seeds; DiceCE has the λ of its set. Bold is the "
        f"best of four, which does not mean that the difference can be shown.{_fewer(shown)}"
    )
    return Table("two-by-two", "CE and DiceCE, by argmax and decided for Dice", heads, rows, note)


def _fewer(sets: tuple[EvidenceSet, ...]) -> str:
    """Where a column has fewer runs than its neighbour, so that their difference is not the decision's."""
    told = [
        f"{one.title}, {arm}: {counted(count, 'run')} of {len(one.seeds(arm.removesuffix(DECIDED)))}"
        for one in sets
        for arm, count in one.fewer_decided.items()
        if arm in ARMS
    ]
    why = (
        "; a column with fewer runs is not of the same networks, and the differences below are of those that both have"
    )
    return f" Not every run was decided ({', '.join(told)}){why}." if told else ""


def _row(name: str, values: Sequence[float], texts: Sequence[str]) -> list[Cell]:
    marks = ranked([round(100 * value, 2) for value in values])
    best = ["best" if mark == "best" else "" for mark in marks]
    return [Cell(name), *(Cell(*cell) for cell in zip(texts, values, best, strict=True))]


def arm_means(one: EvidenceSet, metric: str = "dsc", *, absolute: bool = False) -> dict:
    """By arm, the mean over seeds."""
    means = overall_means(one.scores, metric, absolute=absolute)
    return {one.scores.arm_names[arm]: mean for (_, arm), mean in means.items()}


def _steps(sets: tuple[EvidenceSet, ...], shown: tuple[EvidenceSet, ...]) -> Table:
    found = {head: contrast(sets, arm, reference, metric=metric) for head, arm, reference, metric in STEPS}
    also = {head: contrast(shown[len(sets) :], arm, other, metric=metric) for head, arm, other, metric in STEPS}
    rows = []
    for at, one in enumerate(shown):
        pairs = [each and each.by_set.get(one.title) for each in (found if at < len(sets) else also).values()]
        rows.append([Cell(one.title), *(Cell(difference(pair)) for pair in pairs)])
    means = [Cell(f"mean of {len(sets)}"), *(Cell(mean_difference(one, of=len(sets))) for one in found.values())]
    others = [Cell("other sets like these"), *(Cell(other_sets(one)) for one in found.values())]
    rows[len(sets) : len(sets)] = [means, others]
    note = (
        "DSC points with 95 % intervals for new seeds and new cases; ✓ and ✗: shown, after Holm's correction over the "
        "sets. Decisions are compared within runs. The mean's interval is for new seeds and cases on these sets; the "
        "line below it takes the sets themselves as a sample (Student's t)."
    )
    return Table("two-by-two-steps", "What the loss adds, and what the decision adds", ["", *found], rows, note)
