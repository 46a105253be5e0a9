"""Before and after: what deciding for Dice does to the same networks; the table is on the page Decide too."""

from collections.abc import Mapping

import numpy as np

from sections.contrasts import contrast
from sections.study import DECIDED, EvidenceSet
from sections.wording import NO_VALUE, difference, on_sets, points, table
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.means import group_means
from sizewise.report.verdict import listed

LOSSES = ("CE", "DiceCE")
COLUMNS = {
    "IoU (%)": ("iou", 100, 1),
    "pooled IoU (%)": ("iou_pooled", 100, 1),
    "NSD (%)": ("nsd", 100, 1),
    "|size error| (points)": ("size_error", 100, 2),
}
SCORE_ALONE = ("commit 7c57080", "commit 9e89c4e", "commit b01be51")  # of runs before the pull to the likeliest


def decision_section(sets: tuple[EvidenceSet, ...], also: tuple[EvidenceSet, ...] = ()) -> list[str]:
    """What is said of it, and the table."""
    lines = []
    for loss in LOSSES:
        if found := contrast(sets, f"{loss} (dice)", loss):
            better, worse, of = found.shown(1), found.shown(-1), len(found.usable)
            lines.append(
                f"- {loss}: {points(found)} DSC than by argmax, the mean of {of}; shown better {on_sets(better, of)}, "
                f"worse {on_sets(worse, of)}. {_runs(sets, loss)}"
            )
    return [*lines, "", *decision_table(sets, also), *_older_rule(sets)]


def _older_rule(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """Says where dice was decided at the score's temperature alone, which is no longer how it is done."""
    titles = [one.title for one in sets if any(_by_score_alone(run) for run in one.runs)]
    if not titles:
        return []
    return [
        f"On {listed(titles)} labels were decided at the temperature, of eleven, whose decisions score best on "
        "validation. Now the score is pulled to the likeliest temperature, the more the fewer validation cases there "
        "are: see [Decide](guides/decide.md#fit-a-temperature-first). That matters most on DRIVE and IDRiD, with 2 and "
        "5 of them.",
        "",
    ]


def _by_score_alone(run: Mapping[str, str]) -> bool:
    return bool(run["decided_at"]) and run["machine"].endswith(SCORE_ALONE)


def _runs(sets: tuple[EvidenceSet, ...], loss: str) -> str:
    """In how many runs the DSC rose."""
    gains = [gain for one in sets for gain in run_gains(one, loss).values()]
    return f"The DSC rose in {sum(gain > 0 for gain in gains)} of {len(gains)} runs."


def run_gains(one: EvidenceSet, loss: str) -> dict[str, float]:
    """By seed, how many DSC points deciding for Dice adds."""
    scores = one.dsc
    if scores is None or not {loss, f"{loss} (dice)"} <= set(scores.arms):
        return {}
    before, after = (scores.contributions()[scores.arm(arm)].mean(axis=-1) for arm in (loss, f"{loss} (dice)"))
    return {
        seed: 100 * float(gain) for seed, gain in zip(scores.seeds, after - before, strict=True) if np.isfinite(gain)
    }


def decision_table(sets: tuple[EvidenceSet, ...], also: tuple[EvidenceSet, ...] = ()) -> list[str]:
    """One row for each set and loss: argmax → decided for Dice."""
    rows = []
    for family in (sets, also):
        for one in family:
            for loss in LOSSES:
                found = contrast(family, f"{loss} (dice)", loss)
                if found is None or one.title not in found.by_set:
                    continue
                cells = [_arrow(one, loss, *column) for column in COLUMNS.values()]
                gain = difference(found.by_set[one.title])
                rows.append(
                    [
                        Cell(one.title),
                        Cell(loss),
                        _arrow(one, loss, "dsc", 100, 1),
                        Cell(gain),
                        *cells,
                        Cell(temperatures(one, loss)),
                        Cell(temperatures(one, loss, "decided_at")),
                        Cell(_validation(one, loss)),
                    ]
                )
    if not rows:
        return ["No runs have been decided yet.", ""]
    heads = ["set", "loss", "DSC (%)", "gain, points", *COLUMNS, "temperature", "decided at", "validation DSC (%)"]
    note = (
        "argmax → decided for Dice, the same networks; means over cases, classes and the runs that were decided. The "
        "gain's 95 % interval is of differences within runs, for new seeds and cases; ✓ and ✗: shown, corrected over "
        "the sets. The temperature makes the probabilities of validation cases fit: above 1, the network is surer of "
        "itself than it should be. It is decided at the temperature whose decisions score best there. Where "
        "validation cases are harder or easier than test cases, neither fits these."
    )
    return table(Table("decision", "Decided for Dice", heads, rows, note, heads=2))


def temperatures(one: EvidenceSet, loss: str, which: str = "temperature") -> str:
    """The fitted temperatures of the seeds: from the lowest to the highest."""
    found = sorted(temperature_of(one, loss, which).values())
    if not found:
        return NO_VALUE
    low, high = f"{found[0]:.2f}", f"{found[-1]:.2f}"
    return low if low == high else f"{low} to {high}"


def temperature_of(one: EvidenceSet, loss: str, which: str = "temperature") -> dict[str, float]:
    """By seed, the fitted temperature: that of the likelihood, or with "decided_at" that of the decision."""
    mine = (each for each in one.runs if one.losses.get(each["loss"]) == loss and each[which])
    return {each["seed"]: float(each[which]) for each in mine}


def _validation(one: EvidenceSet, loss: str) -> str:
    """The mean validation DSC by argmax: how unlike the test cases those were that the temperature is from."""
    found = [float(each["validation_dsc"]) for each in one.runs if one.losses.get(each["loss"]) == loss]
    return f"{100 * sum(found) / len(found):.1f}"


def _arrow(one: EvidenceSet, loss: str, metric: str, scale: float, digits: int) -> Cell:
    """The mean by argmax and the mean decided for Dice, of the runs that have both."""
    part = one.scores.of(metric).known
    keys, means, _ = group_means([part.arm, part.seed, part.class_id], np.abs(part.value))
    keys, means, _ = group_means(keys[:2], means)
    by_run = dict(zip(zip(*(key.tolist() for key in keys), strict=True), means.tolist(), strict=True))
    before, after = (one.scores.arm_names.index(arm) for arm in (loss, loss + DECIDED))
    seeds = [seed for arm, seed in by_run if arm == after and (before, seed) in by_run]
    if not seeds:
        return Cell(NO_VALUE)
    ends = (scale * float(np.mean([by_run[arm, seed] for seed in seeds])) for arm in (before, after))
    return Cell(" → ".join(f"{end:.{digits}f}" for end in ends))
