"""An advice on the screen, and the commands that follow from it."""

import shlex
from collections.abc import Sequence

from sizewise.advice.advice_text import answer_rows, certainty, cost_sentence, far_sentences, record_sentences
from sizewise.advice.advise import Advice, chosen_weight
from sizewise.advice.features import in_words
from sizewise.advice.mask_regions import MaskRegions
from sizewise.advice.pieces import pieces_sentences
from sizewise.advice.set_scores import REFERENCE
from sizewise.cli.flags import in_flags
from sizewise.cli.show import show_next, show_sentences, show_table
from sizewise.data.dataset import Dataset
from sizewise.metrics.cases_csv import ARGMAX

FEATURES = ("share", "varies", "absent", "pieces", "least px", "classes", "")
PILOT_LOSSES, PILOT_SEEDS = 3, 3


def show_advice(dataset: Dataset, regions: MaskRegions, advice: Advice, data: Sequence[str]) -> None:
    """Print the features beside the nearest sets', the answer with its reasons, how sure it is, and the commands."""
    for note in dataset.notes:
        show_sentences(f"note: {in_flags(note)}")
    show_sentences(regions.said)
    known = any(one.set.name == dataset.name for one in advice.near)
    rows = [[f"{dataset.name} (yours)" if known else dataset.name, *in_words(advice.features), ""]]
    rows += [[one.set.name, *in_words(one.set.features), f"{one.distance:.1f}"] for one in advice.near]
    show_table("Regions, and the nearest sets of the evidence", ("", *FEATURES, "distance"), rows, heads=1)
    show_sentences(
        "(Share of the image that a region covers, as a geometric mean; the factor by which it varies between cases; "
        "how often a class is absent; connected pieces of a class in a case; pixels that 5 % of the pieces are below.)"
    )
    show_table(
        "Advice",
        ("", "take", "because"),
        [(what, take, in_flags(because)) for what, take, because in answer_rows(advice)],
    )
    losses = pilot_losses(advice)
    for sentence in (
        *far_sentences(advice),
        *certainty(advice),
        *pieces_sentences(advice),
        *record_sentences(advice),
        cost_sentence(advice, len(losses) * PILOT_SEEDS),
    ):
        show_sentences(in_flags(sentence).replace("`dry_run`", "--dry-run"))
    show_next(*commands(advice, losses, data))


def commands(advice: Advice, losses: Sequence[str], data: Sequence[str]) -> list[str]:
    """Train as advised; compare it with what it is tied with; and what that would take."""
    shared = [*data, "--recipe", advice.recipe]
    train = ["sizewise", "train", *shared, "--loss", advice.loss]
    train += ["--weight", f"{advice.weight:g}"] if advice.weight is not None else []
    train += ["--decide", advice.decision] if advice.decision != ARGMAX else []
    study = ["sizewise", "compare", *shared, "--losses", ",".join(losses), "--seeds", str(PILOT_SEEDS)]
    study += ["--decisions", "argmax,dice", "--out", "advised"]  # `study` may be there, of another protocol
    return [shlex.join(train), shlex.join([*study, "--dry-run"]), shlex.join(study)]


def pilot_losses(advice: Advice) -> list[str]:
    """What is advised, the best, DiceCE, and then what comes nearest: each at its λ on the near sets."""
    behind = advice.choice.behind
    closest = sorted(behind, key=lambda kind: behind[kind].estimate)
    kinds = (advice.kind, advice.choice.best, REFERENCE, *advice.choice.tied, *closest)
    names = list(dict.fromkeys(kind.loss for kind in kinds))[:PILOT_LOSSES]
    return [
        _with_weight(name, advice.weight if name == advice.loss else chosen_weight(advice.near, name)) for name in names
    ]


def _with_weight(loss: str, weight: float | None) -> str:
    """The loss at a λ, as ``compare`` reads it."""
    return loss if weight is None or ":" in loss else f"{loss}(weight={weight:g})"
