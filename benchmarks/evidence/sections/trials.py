"""Size penalties that were tried against plain L1; what lost stays out of the package and is listed here."""

import inspect
from collections import Counter
from collections.abc import Mapping

import numpy as np
import run as runner
import size_terms

from sections.contrasts import Contrast, contrast
from sections.study import EvidenceSet
from sections.two_by_two import arm_means
from sections.wording import NO_VALUE, mean_difference, table
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.verdict import listed
from sizewise.wording import counted

BASELINES = ("RCE-L1", "RCE-KL")
WHAT = ("DSC", "|size error|")


def trial_section(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """Each trial against DiceCE and plain L1, over the sets that have both: nearer sizes, at no loss of DSC?"""
    called = {f"size_terms:{trial}": trial for trial in runner.TRIALS}
    tried = tuple(
        one.calling(called | {loss: arm for arm, loss in one.chosen.items()})
        for one in sets
        if {"DiceCE", "RCE-L1"} <= set(one.chosen) and _has_two_seeds(one, called)
    )
    rows, verdicts, where = [], {}, {}
    for arm in (*BASELINES, *runner.TRIALS):
        dsc, size = contrast(tried, arm, "DiceCE"), contrast(tried, arm, "DiceCE", metric="size_error")
        if dsc is None or size is None:
            continue
        verdicts[arm] = verdict(dsc, size)
        where[arm] = listed([title for title, found in size.by_set.items() if not found.refused])
        beside_l1 = [
            contrast(tried, arm, "RCE-L1", metric=metric) if arm != "RCE-L1" else None
            for metric in ("dsc", "size_error")
        ]
        cells = [
            *(arm, verdicts[arm], str(dsc.sets), mean_difference(dsc), mean_difference(size, 3), _ratio(tried, arm)),
            *(mean_difference(one, digits) for one, digits in zip(beside_l1, (2, 3), strict=True)),
        ]
        rows.append([Cell(one) for one in cells])
    tested = [arm for arm in verdicts if arm in runner.TRIALS]
    if not tested:
        return ["There are no runs of the trials with two seeds yet.", ""]
    kept = [f"{arm} (on {where[arm]})" for arm in tested if verdicts[arm] == KEPT]
    beside_dice, beside_l1 = ([f"{what} − {other}" for what in WHAT] for other in ("DiceCE", "RCE-L1"))
    heads = ["loss", "verdict", "sets", *beside_dice, "ratio", *beside_l1]
    note = (
        f"By argmax, points, means over {listed([one.title for one in tried])} or as many of them as a trial has, with "
        "95 % intervals for new seeds and cases on them, not corrected for the number of trials; the ratio is that of "
        "the |size error| to DiceCE's, the median over the sets. RCE-L1 and RCE-KL have the λ of the set, the best of "
        "a grid; a trial has one strength, which was not tuned."
    )
    told = f"Of {counted(len(tested), 'trial')} {listed(kept) if kept else 'none'} met the goal"
    return [
        f"{told}: sizes shown nearer than DiceCE's, DSC not shown lower. With {counted(len(tested), 'trial')} and no "
        "correction for their number, one may do so by luck. Here they are, whatever they did.",
        "",
        *(f"- `{trial}`: {inspect.getdoc(getattr(size_terms, trial))}" for trial in tested),
        "",
        *table(Table("trials", "Size penalties", heads, rows, note, heads=2)),
    ]


def _has_two_seeds(one: EvidenceSet, losses: Mapping[str, str]) -> bool:
    """Whether some trial has two: with one there is no verdict, and the set would change RCE-L1's line alone."""
    return max(Counter(each["loss"] for each in one.runs if each["loss"] in losses).values(), default=0) > 1


KEPT = "meets the goal"


def verdict(dsc: Contrast, size: Contrast) -> str:
    """Whether the goal is met."""
    if size.word == "better":
        return KEPT if dsc.word != "worse" else "sizes nearer, DSC lower"
    return "sizes not shown nearer" if size.word == "not shown" else "sizes farther"


def _ratio(sets: tuple[EvidenceSet, ...], arm: str) -> str:
    found = []
    for one in sets:
        means = arm_means(one, "size_error", absolute=True)
        if arm in means and means.get("DiceCE") and means["DiceCE"].mean:
            found.append(means[arm].mean / means["DiceCE"].mean)
    return f"{np.median(found):.2f}" if found else NO_VALUE
