"""Every loss on every set: the scores, the grid that chose λ, and the classes with their sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import run as runner

from sections.contrasts import contrast
from sections.study import DECIDED, MAIN, ROLES, EvidenceSet, weight_of
from sections.wording import NO_VALUE, folded, table
from sizewise.report.conclusions import Conclusions
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.judgement import judge
from sizewise.report.score_tables import class_tables, score_tables
from sizewise.report.standing import Standing
from sizewise.report.true_sizes import true_sizes
from sizewise.wording import counted

DROPPED = ("size bias (points)",)  # read on the page of a study; here it would make the table too wide


def loss_tables(sets: tuple[EvidenceSet, ...], also: tuple[EvidenceSet, ...] = ()) -> list[str]:
    """A table of scores for each set."""
    lines: list[str] = []
    for one in (*sets, *also):
        ticks = _against_ce(sets if one in sets else also, one)
        (found,) = score_tables(one.scores, ticks)
        found = _narrowed(found)
        main = [row for row in found.rows if _loss(row) in MAIN]
        others = [row for row in found.rows if _loss(row) not in MAIN]
        lines += table(replace(found, title=one.title, rows=main, note=_note(one)))
        if others:
            told = replace(found, title="", rows=others, note="The best and the second are marked over both tables.")
            count = counted(len({_loss(row) for row in others}), "other loss", "other losses")
            lines += folded(f"{count} on {one.title}", table(told))
    return lines


def _loss(row: Sequence[Cell]) -> str:
    return row[0].text.removesuffix(DECIDED)


def _against_ce(sets: tuple[EvidenceSet, ...], one: EvidenceSet) -> Conclusions:
    """What each arm is shown to be against CE by argmax: the ticks of the table."""
    words = {}
    for arm in one.dsc.arms if one.dsc is not None else ():
        pair = contrast(sets, arm, "CE") if arm != "CE" else None
        if pair is not None and one.title in pair.by_set:
            words[arm, "CE"] = judge(pair.by_set[one.title])
    standing = Standing("CE", dict.fromkeys(one.scores.arm_names, 0.0), {}, words, ())
    return Conclusions([], arranged=[one.dsc] if one.dsc is not None else [], standings={one.title: standing})


def _narrowed(found: Table) -> Table:
    keep = [at for at, head in enumerate(found.columns) if head not in DROPPED]
    return replace(
        found, columns=[found.columns[at] for at in keep], rows=[[row[at] for at in keep] for row in found.rows]
    )


def _note(one: EvidenceSet) -> str:
    weights = ", ".join(f"{arm} {weight_of(loss):g}" for arm, loss in one.chosen.items())
    counts: dict[int, list[str]] = {}
    for arm in dict.fromkeys(one.losses.values()):
        counts.setdefault(len(one.seeds(arm)), []).append(arm)
    most = max(counts)
    fewer = [f"{', '.join(arms)}: {counted(count, 'seed')}" for count, arms in counts.items() if count != most]
    cases = len(one.dsc.cases) if one.dsc is not None else 0
    groups = len({one.groups.get(case, case) for case in one.dsc.cases}) if one.groups and one.dsc is not None else 0
    fewer_decided = [f"{arm}: {count}" for arm, count in one.fewer_decided.items()]
    undecided = f" ({', '.join(fewer_decided)})" if fewer_decided else ""
    return (
        f"{counted(cases, 'test case')}{f' of {groups} patients' if groups else ''}, "
        f"{counted(most, 'seed')}{' (' + '; '.join(fewer) + ')' if fewer else ''}, ± over seeds{undecided}. λ: "
        f"{weights or 'not chosen yet'}. ✓ shown better than CE by argmax, ✗ shown worse (each arm by itself, "
        "corrected over the sets)."
    )


def grid_table(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """The validation scores that λ was chosen by."""
    columns = [(term, weight) for term, weights in runner.GRID.items() for weight in weights]
    rows = []
    for one in sets:
        tried = {each["loss"]: float(each["validation_dsc"]) for each in one.runs if each["seed"] == "0"}
        cells = []
        for term, weight in columns:
            loss = runner.compound(term, weight)
            best = one.chosen.get(ROLES[term]) == loss
            cells.append(
                Cell(f"{100 * tried[loss]:.2f}", rank="best" if best else "") if loss in tried else Cell(NO_VALUE)
            )
        rows.append([Cell(one.title), *cells])
    heads = ["validation DSC (%)", *(f"{ROLES[term]}, {weight:g}" for term, weight in columns)]
    note = "Seed 0, by argmax, the best epoch. Bold is the λ that every seed then had; test cases had no part in it."
    return table(Table("grid", "How λ was chosen", heads, rows, note))


def by_class(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """DSC and pooled IoU of each class of the main losses, with the share of the image that it covers."""
    lines: list[str] = []
    for one in (each.calling(_main(each)) for each in sets):
        sizes = true_sizes(one.scores)
        for found in class_tables(one.scores, sizes):
            shown = table(found)
            lines += shown if "pooled" not in found.name else folded(f"pooled IoU of each class on {one.title}", shown)
    single = [one for one in sets if len(one.scores.class_ids(0)) == 1]
    if single:
        told = [f"{one.title} ({_name(one)}, {_share(one):.3g} % of the image)" for one in single]
        lines += [f"One class each: {', '.join(told)}; their scores are in the tables above.", ""]
    return lines


def _main(one: EvidenceSet) -> dict[str, str]:
    return {loss: arm for loss, arm in one.losses.items() if arm in MAIN}


def _name(one: EvidenceSet) -> str:
    return one.scores.class_name(0, one.scores.class_ids(0)[0])


def _share(one: EvidenceSet) -> float:
    sizes = true_sizes(one.scores)
    cases = sizes.part.case
    return 100 * float(np.mean([sizes.true[cases == case].mean() for case in np.unique(cases)]))


def chosen_weights(sets: tuple[EvidenceSet, ...]) -> Mapping[str, dict[str, float]]:
    """By arm, the λ of each set."""
    return {arm: {one.title: weight_of(one.chosen[arm]) for one in sets if arm in one.chosen} for arm in ROLES.values()}
