"""Size penalties that were tried against plain L1; what lost stays out of the package and is listed here."""

import inspect

import numpy as np
import run as runner
import size_terms

from sections.contrasts import Contrast, contrast
from sections.study import EvidenceSet
from sections.two_by_two import arm_means
from sections.wording import NO_VALUE, mean_difference, table
from sizewise.report.formatted_table import Cell, Table


def trial_section(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """Each trial against DiceCE, over the sets that have both: sizes should be nearer, at no loss of DSC."""
    called = {f"size_terms:{trial}": trial for trial in runner.TRIALS}
    tried = tuple(
        one.calling(called | {loss: arm for arm, loss in one.chosen.items()})
        for one in sets
        if any(each["loss"] in called for each in one.runs) and "DiceCE" in one.chosen
    )
    if not tried:
        return ["There are no runs of the trials yet.", ""]
    rows, verdicts = [], {}
    for arm in ("RCE-L1", "RCE-KL", *runner.TRIALS):
        dsc, size = contrast(tried, arm, "DiceCE"), contrast(tried, arm, "DiceCE", metric="size_error")
        if dsc is None or size is None:
            continue
        verdicts[arm] = verdict(dsc, size)
        what = inspect.getdoc(getattr(size_terms, arm)) if arm in runner.TRIALS else "at the λ of the set"
        rows.append(
            [
                Cell(arm),
                Cell(what.rstrip(".")),
                Cell(str(dsc.sets)),
                Cell(mean_difference(dsc)),
                Cell(mean_difference(size, 3)),
                Cell(_ratio(tried, arm)),
                Cell(verdicts[arm]),
            ]
        )
    heads = [
        "loss",
        "what it is",
        "sets",
        "DSC − DiceCE (points)",
        "|size error| − DiceCE (points)",
        "|size error| / DiceCE",
        "",
    ]
    note = (
        "By argmax, means over the sets with 95 % intervals for new seeds and cases on them, not corrected for the "
        "number of trials; the ratio is the median over the sets. A trial earns its place if its sizes are shown "
        "nearer than DiceCE's and its DSC is not shown lower."
    )
    kept = [arm for arm, word in verdicts.items() if word == KEPT and arm in runner.TRIALS]
    tested = [arm for arm in verdicts if arm in runner.TRIALS]
    told = (
        f"Of {len(tested)} trials {', '.join(kept)} met the goal."
        if kept
        else f"None of {len(tested)} trials met the goal."
    )
    return [
        f"{told} Here they are, whatever they did.",
        "",
        *table(Table("trials", "Size penalties", heads, rows, note, heads=2)),
    ]


KEPT = "nearer sizes, DSC not lower"


def verdict(dsc: Contrast, size: Contrast) -> str:
    """Whether the goal is met."""
    if size.word == "better":
        return KEPT if dsc.word != "worse" else "nearer sizes, DSC lower"
    return "sizes not shown nearer" if size.word == "not shown" else "sizes farther"


def _ratio(sets: tuple[EvidenceSet, ...], arm: str) -> str:
    found = []
    for one in sets:
        means = arm_means(one, "size_error", absolute=True)
        if arm in means and means.get("DiceCE") and means["DiceCE"].mean:
            found.append(means[arm].mean / means["DiceCE"].mean)
    return f"{np.median(found):.2f}" if found else NO_VALUE
