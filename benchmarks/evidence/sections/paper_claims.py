"""What the paper says, and what these runs say; the script decides whether they agree."""

from collections import Counter

from sections.contrasts import Contrast, contrast
from sections.losses import chosen_weights
from sections.study import EvidenceSet
from sections.wording import folded, on_sets, points, signed, table
from sizewise.report.paper import paper_note, paper_tables
from sizewise.wording import counted

# A claim: in the paper's sense, the arm that is better, and the other.
CLAIMS = (
    ("RCE with the L1 penalty is better than CE (on Kvasir-SEG 90.7 against 89.3, R50-FPN)", "RCE-L1", "CE"),
    ("it is better than DiceCE (90.7 against 89.4), which has the same budget of hyper-parameters", "RCE-L1", "DiceCE"),
    ("L1 is the better penalty than KL (90.7 against 89.3)", "RCE-L1", "RCE-KL"),
    ("Dice terms bring improvements where classes are imbalanced (89.4 against 89.3 there)", "DiceCE", "CE"),
    ("LogDiceCE is better than DiceCE (90.3 against 89.4)", "LogDiceCE", "DiceCE"),
)
SIMILAR = ("DBCE, CE with Dice's size bias alone, scores like DiceCE (89.8 against 89.4)", "DBCE", "DiceCE")
PAPER_WEIGHTS = {"DiceCE": 0.1, "RCE-L1": 1.0, "RCE-KL": 0.1}
FOUND = {"better": "these runs agree", "worse": "these runs say the opposite", "not shown": "these runs do not show it"}


def claims_section(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """Claim by claim."""
    lines = []
    for claim, arm, other in CLAIMS:
        found = contrast(sets, arm, other)
        if found is not None:
            lines.append(f"- *{claim}*: **{FOUND[found.word]}**. {_numbers(found)}")
    if similar := contrast(sets, SIMILAR[1], SIMILAR[2]):
        told = "these runs do not tell them apart" if similar.word == "not shown" else "these runs tell them apart"
        lines.append(f"- *{SIMILAR[0]}*: **{told}**. {_numbers(similar)}")
    lines += _weights(sets)
    if not lines:
        return ["No claim can be looked at yet.", ""]
    head = (
        "By argmax, means over the sets of this study, which are not the paper's but for Kvasir-SEG (another split), "
        "with other protocols and networks: a difference is no refutation. Our RCE-L1 takes the mean over classes, as "
        "the authors' code does."
    )
    return [head, "", *lines, "", *_beside(sets)]


def _beside(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """The paper's own tables of the sets that it has too."""
    tables = [found for one in sets for found in paper_tables(one.scores)]
    if not tables:
        return []
    lines = [line for found in tables for line in table(found)]
    return [*folded("the paper's tables beside ours", [*lines, paper_note(), ""])]


def _numbers(one: Contrast) -> str:
    of = len(one.usable)
    kvasir = one.by_set.get("Kvasir-SEG")
    there = "" if kvasir is None else f" On Kvasir-SEG {signed(100 * kvasir.estimate)}."
    return (
        f"{one.arm} scores {points(one)} than {one.reference} over {counted(of, 'set')}; shown better "
        f"{on_sets(one.shown(1), of)}, worse {on_sets(one.shown(-1), of)}.{there}"
    )


def _weights(sets: tuple[EvidenceSet, ...]) -> list[str]:
    lines = []
    for arm, weights in chosen_weights(sets).items():
        if not weights:
            continue
        counts = Counter(weights.values())
        told = ", ".join(f"{weight:g} on {count}" for weight, count in sorted(counts.items()))
        same = counts[PAPER_WEIGHTS[arm]]
        lines.append(
            f"- *The best λ of {arm} is the same on all sets, {PAPER_WEIGHTS[arm]:g}*: here validation chose {told} of "
            f"{len(weights)} sets, the paper's on {same}. One seed for each λ: such choices have luck in them."
        )
    return lines
