"""CE and DiceCE once more with longer training: is it the short protocol that tells them apart?"""

import run as runner

from sections.contrasts import compared
from sections.study import EvidenceSet
from sections.two_by_two import arm_means
from sections.wording import NO_VALUE, difference, signed, table
from sizewise.report.formatted_table import Cell, Table
from sizewise.study.statistics.paired import Comparison

ARMS = ("CE", "DiceCE")
NONE_YET = "There are no runs of CE and DiceCE with longer training yet."


def longer_section(sets: tuple[EvidenceSet, ...], longer: tuple[EvidenceSet, ...]) -> list[str]:
    """A sentence for each set that was trained longer, and the scores under both protocols."""
    short = {one.name: one for one in sets}
    lines: list[str] = []
    rows: list[list[Cell]] = []
    for after in longer:
        before = short.get(after.name)
        gaps = [compared(one.dsc, "DiceCE", "CE", one.groups) if one else None for one in (before, after)]
        if before is None or gaps[0] is None or gaps[1] is None:
            continue
        lines.append(f"- {_sentence(before.title, gaps[0], gaps[1])}")
        for times, one, gap in (("as above", before, gaps[0]), (f"{runner.LONGER} ×", after, gaps[1])):
            means = [Cell(_mean(one, arm)) for arm in ARMS]
            rows.append([Cell(before.title), Cell(times), *means, Cell(difference(gap))])
    if not rows:
        return [NONE_YET, ""]
    note = (
        f"By argmax; ± over seeds. {runner.LONGER} × has {runner.LONGER} times the epochs and the same number of looks "
        "at the validation cases. Differences have 95 % intervals for new seeds and cases where there are two seeds."
    )
    heads = ["set", "training", *(f"{arm}, DSC (%)" for arm in ARMS), "DiceCE − CE"]
    return [*lines, "", *table(Table("longer", "", heads, rows, note, 2))]


def _sentence(title: str, first: Comparison, last: Comparison) -> str:
    """What longer training does to the difference, as far as it can be told."""
    scale = first.metric.scale
    told = (
        f"On {title} DiceCE is {signed(scale * first.estimate)} points from CE with the training above, "
        f"{signed(scale * last.estimate)} with {runner.LONGER} times as much"
    )
    if last.refused:
        return f"{told}; with so few runs nothing can be concluded."
    if last.low > 0:
        return f"{told}: **the difference outlasts the short protocol**."
    if last.high < 0:
        return f"{told}: **CE overtakes it**."
    return f"{told}: **that a difference is left is not shown**."


def _mean(one: EvidenceSet, arm: str) -> str:
    mean = arm_means(one).get(arm)
    return NO_VALUE if mean is None else mean.text(scale=100)
