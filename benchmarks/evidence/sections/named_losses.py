"""The named losses beside the main ones: what each is against CE and DiceCE over the sets that have it."""

import run as runner

from sections.contrasts import contrast
from sections.study import EvidenceSet
from sections.wording import mean_difference, on_sets, signed, table
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.verdict import listed
from sizewise.wording import counted

NONE_YET = "There are no runs of the other named losses yet."


def named_section(sets: tuple[EvidenceSet, ...], ranks: list[str]) -> list[str]:
    """A sentence, a table with a line for each loss, and their ranks, which are lines already."""
    rows: list[list[Cell]] = []
    words: dict[str, list[str]] = {"better": [], "worse": [], "not shown": []}
    for loss in runner.OTHERS:
        beside_dice = contrast(sets, loss, "DiceCE")
        if beside_dice is None:
            continue
        words[beside_dice.word].append(f"{loss} ({signed(beside_dice.gain)})")
        of = len(beside_dice.usable)
        cells = [
            *(loss, str(of), mean_difference(contrast(sets, loss, "CE"), of=of), mean_difference(beside_dice)),
            mean_difference(contrast(sets, loss, "DiceCE", metric="size_error"), 3, of=of),
            *(on_sets(beside_dice.shown(sign), of).removeprefix("on ") for sign in (1, -1)),
        ]
        rows.append([Cell(one) for one in cells])
    if not rows:
        return [NONE_YET, ""]
    told = {"better": "better", "worse": "worse", "not shown": "not told from it"}
    parts = "; ".join(f"{told[word]}: {', '.join(losses)}" for word, losses in words.items() if losses)
    titles = [one.title for one in sets if set(runner.OTHERS) & set(one.losses.values())]
    heads = ["loss", "sets", "DSC − CE", "DSC − DiceCE", "|size error| − DiceCE", "better on", "worse on"]
    note = (
        "By argmax, points, means over the sets with 95 % intervals for new seeds and cases on them, not corrected for "
        "the number of losses; where each is shown better or worse than DiceCE is corrected over the sets. λ is each "
        "loss's own, not chosen: DiceCE has the best of three."
    )
    return [
        f"{counted(len(rows), 'loss', 'losses')} on {listed(titles)}, against DiceCE by argmax in DSC points: {parts}.",
        "",
        *table(Table("named", "The other named losses", heads, rows, note)),
        *ranks,
    ]
