"""The sets of the evidence that are nearest to a data set, and how much each counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from sizewise.advice.evidence_table import EvidenceSet
from sizewise.advice.features import Features, distances

HOW_MANY = 3
CLOSEST = 0.25  # standard deviations: sets that are nearer than this count alike


@dataclass(frozen=True)
class NearSet:
    """A set, its distance in standard deviations of the features, and its part of the weight of all near sets."""

    set: EvidenceSet
    distance: float
    weight: float


def nearest(features: Features, evidence: Sequence[EvidenceSet], *, how_many: int = HOW_MANY) -> tuple[NearSet, ...]:
    """The nearest sets, nearest first; each counts by 1 / distance, and the weights add up to 1.

    >>> nearest(Features(0.1, 0.5, 0.0, None, None, 1, 2), [])
    ()
    """
    found = sorted(
        zip(distances(features, [one.features for one in evidence]), evidence, strict=True) if evidence else (),
        key=lambda pair: (pair[0], pair[1].name),
    )[:how_many]
    parts = [1 / max(distance, CLOSEST) for distance, _ in found]
    return tuple(NearSet(one, distance, part / sum(parts)) for (distance, one), part in zip(found, parts, strict=True))


def usual_distance(evidence: Sequence[EvidenceSet]) -> float:
    """The largest distance of a set of the evidence to its nearest other one, or 1 if that is more.

    Who is farther from all of them is unlike all of them.
    """
    nearby = []
    for one in evidence:
        others = [other for other in evidence if other is not one]
        nearby += [near.distance for near in nearest(one.features, others, how_many=1)]
    return max([1.0, *nearby])
