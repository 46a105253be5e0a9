"""How good the advice is: each set of the evidence is left out in turn, advised from the others, and looked up."""

from collections.abc import Sequence
from dataclasses import dataclass

from sizewise.advice.choice import MARGIN, choose
from sizewise.advice.evidence_table import EvidenceSet, Kind
from sizewise.advice.near_sets import nearest
from sizewise.advice.set_scores import REFERENCE


@dataclass(frozen=True)
class Regret:
    """What an answer would have cost on one set.

    Attributes:
        set: its name.
        answer: the loss and decision.
        best: those with the highest mean there.
        points: the best mean minus that of the answer, in DSC from 0 to 1. The best is known only afterwards, and is
            lucky as well, so that nobody's regret is 0 on average.
    """

    set: str
    answer: Kind
    best: Kind
    points: float

    @property
    def close(self) -> bool:
        """Within half a DSC point of the best."""
        return self.points <= MARGIN


@dataclass(frozen=True)
class Record:
    """The advice, and the answers that need no data set, on every set in turn.

    Attributes:
        advice: from the other sets.
        always: by loss and decision, what always saying that would have cost, on those of the sets where it was run.
    """

    advice: tuple[Regret, ...]
    always: dict[Kind, tuple[Regret, ...]]


def leave_one_set_out(evidence: Sequence[EvidenceSet]) -> Record:
    """Advise each set from the others, among the arms that were run on it, at the λ chosen on its validation cases.

    >>> leave_one_set_out([]).advice
    ()
    """
    evidence = [one for one in evidence if one.compares]
    advised = []
    for one in evidence:
        others = [other for other in evidence if other.name != one.name]  # nor another network on the same images
        found = choose(nearest(one.features, others), among=one.chosen())
        if found is not None:
            advised.append((one, found.kind))
    always: dict[Kind, tuple[Regret, ...]] = {}
    for one, _ in advised:
        for kind in one.chosen():
            always[kind] = (*always.get(kind, ()), regret(one, kind))
    return Record(tuple(regret(one, kind) for one, kind in advised), always)


def regret(on: EvidenceSet, answer: Kind) -> Regret:
    """How far an answer is behind the best arm of a set."""
    gains = on.gains()
    best = max(gains, key=lambda kind: gains[kind])
    return Regret(on.name, answer, best, gains[best] - gains[answer])


def close_share(regrets: Sequence[Regret]) -> tuple[int, int]:
    """How many are within half a point of the best, of how many."""
    return sum(one.close for one in regrets), len(regrets)


def mean_regret(regrets: Sequence[Regret]) -> float:
    """On average, in DSC from 0 to 1."""
    return sum(one.points for one in regrets) / len(regrets)


def against(record: Record, kind: Kind = REFERENCE) -> tuple[tuple[Regret, ...], tuple[Regret, ...]]:
    """The advice, and always saying ``kind`` (DiceCE), on the sets that have both."""
    always = record.always.get(kind, ())
    sets = {one.set for one in always}
    return tuple(one for one in record.advice if one.set in sets), always
