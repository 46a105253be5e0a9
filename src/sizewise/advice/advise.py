"""``advise``: which loss, λ, scope, decision and recipe for data with such regions, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sizewise.advice.choice import Choice, Difference, choose, difference
from sizewise.advice.evidence_table import EvidenceSet, Kind, read_evidence
from sizewise.advice.features import Features, features_of
from sizewise.advice.leave_one_out import Record, leave_one_set_out
from sizewise.advice.near_sets import NearSet, nearest, usual_distance
from sizewise.advice.own_studies import read_studies
from sizewise.advice.region_table import RegionTable, region_table
from sizewise.advice.set_scores import REFERENCE
from sizewise.errors import BadInput

SCOPE = "image"  # of every run of the evidence


@dataclass(frozen=True)
class Advice:
    """What to take for a data set, and why. ``print`` it for all of it in sentences.

    Attributes:
        loss: by the name that ``sizewise.loss`` takes.
        weight: λ; None where the loss has none.
        scope: over what Dice and sizes are taken; the evidence has no other.
        decision: from probabilities to labels, as ``sizewise.decide`` takes it.
        recipe: of the training.
        clear: whether the evidence shows this to be better than everything else that was run on the near sets.
        choice: what it was chosen from.
        gain: over DiceCE with argmax, on the near sets; None where that was not run there.
        features: of the data set.
        near: the nearest sets.
        far: whether the data set is farther from all of them than any of them is from the others.
        record: how such advice did on the sets of the evidence, each left out in turn.
    """

    loss: str
    weight: float | None
    scope: str
    decision: str
    recipe: str
    clear: bool
    choice: Choice
    gain: Difference | None
    features: Features
    near: tuple[NearSet, ...]
    far: bool
    record: Record

    @property
    def kind(self) -> Kind:
        """The loss with the decision."""
        return Kind(self.loss, self.decision)

    def __str__(self) -> str:
        from sizewise.advice.advice_text import advice_lines

        return "\n".join(advice_lines(self))


def advise(
    sizes: Any,
    *,
    background: int | None = 0,
    spatial_dims: int = 2,
    evidence: Sequence[str | Path] = (),
) -> Advice:
    """Which loss, λ, scope, decision and recipe, by the data sets of the evidence whose regions are most alike.

    A table of sizes says nothing of connected pieces; ``sizewise advise DATA`` counts them in the masks.

    Args:
        sizes: a row for each case and a column for each class: pixels, as ``sw.region_stats(...).count`` has them, or
            shares of the image. Or the path of the ``sizes.csv`` that ``sizewise data`` writes.
        background: the class that is not scored; None: every class is.
        spatial_dims: 2 for pictures, 3 for volumes.
        evidence: folders with finished studies of your own, which count beside the package's.

    Raises:
        BadInput: no region in the table, no class but the background, a folder without a study.

    >>> import sizewise as sw
    >>> advice = sw.advise([[9000, 1000], [8500, 1500], [9900, 100]])
    >>> advice.scope, advice.loss in ("CE", *sw.loss_names())
    ('image', True)
    """
    table = region_table(sizes, background=background, spatial_dims=spatial_dims)
    return advise_table(table, evidence=(*read_evidence(), *read_studies([Path(one) for one in evidence])))


def advise_table(table: RegionTable, *, evidence: Sequence[EvidenceSet], recipe: str = "") -> Advice:
    """The same for a table that was read, from these sets.

    Args:
        table: the sizes.
        evidence: the sets.
        recipe: of the data set's layout; empty: by its dimensions.
    """
    from sizewise.train.recipes import recipe_by_dims

    features = features_of(table)
    evidence = [one for one in evidence if one.compares]
    near = nearest(features, evidence)
    choice = choose(near)
    if choice is None:
        raise BadInput(
            "advise: the evidence has no two losses with two seeds each on the nearest sets. Add finished studies of "
            "several losses: `evidence`."
        )
    return Advice(
        loss=choice.kind.loss,
        weight=chosen_weight(near, choice.kind.loss),
        scope=SCOPE,
        decision=choice.kind.decision,
        recipe=recipe or recipe_by_dims(table.spatial_dims),
        clear=choice.clear,
        choice=choice,
        gain=difference(near, choice.kind, REFERENCE),
        features=features,
        near=near,
        far=near[0].distance > usual_distance(evidence),
        record=leave_one_set_out(evidence),
    )


def chosen_weight(near: Sequence[NearSet], loss: str) -> float | None:
    """The λ of a loss that did best on the validation cases of the near sets; None where it has none.

    Each set counts by its nearness, and each λ by how far its validation DSC is behind the best λ there. Only λ that
    every near set with the loss has tried are candidates; where there is none, it is the nearest set's own.
    """
    tried = []
    for one in near:
        scores = {arm.weight: arm.validation or 0.0 for arm in one.set.arms if arm.loss == loss and arm.weight}
        if scores:
            tried.append((one.weight, scores))
    if not tried:
        return None
    shared = [weight for weight in tried[0][1] if all(weight in scores for _, scores in tried)]
    if not shared:
        return float(max(tried[0][1], key=lambda weight: tried[0][1][weight]))
    behind = {weight: sum(part * (max(of.values()) - of[weight]) for part, of in tried) for weight in shared}
    return float(min(shared, key=lambda weight: behind[weight]))
