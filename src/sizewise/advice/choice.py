"""Which loss and decision did best on the near sets, which cannot be told from it, and the simplest of those."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf, sqrt

from sizewise.advice.evidence_table import EvidenceSet, Kind
from sizewise.advice.near_sets import NearSet
from sizewise.metrics.cases_csv import ARGMAX

TERMS = {  # of the named losses, in their order; written down so that advice need not wait for torch
    1: ("CE", "WCE", "FL", "Dice", "LogDice", "CC-Dice"),
    2: ("DiceCE", "LogDiceCE", "DiceFL", "LogDiceFL", "DBCE", "RCE", "RCE-KL", "RFL", "RFL-KL", "JaccardCE"),
    3: ("CC-DiceCE",),
}
Z = 1.959964  # 95 % of a normal distribution
MARGIN = 0.005  # half a DSC point: less is no reason to take what is less simple
COVERED = 0.5  # of the near sets' weight that an arm has to have been run on


@dataclass(frozen=True)
class Difference:
    """One kind of arm minus another, over several sets; in DSC from 0 to 1.

    Attributes:
        estimate: the mean, weighted by nearness.
        low, high: the 95 % interval of that mean for a set like these.
        sets: how many there are.
    """

    estimate: float
    low: float
    high: float
    sets: int

    @property
    def shown(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Choice:
    """What to take.

    Attributes:
        kind: what is advised: the simplest of the tied, with the decision that is shown to be better of its networks.
        best: what has the highest mean over the near sets.
        tied: what cannot be told from the best, and is at most half a point behind; simplest first.
        behind: by kind, the best minus it.
    """

    kind: Kind
    best: Kind
    tied: tuple[Kind, ...]
    behind: dict[Kind, Difference]

    @property
    def clear(self) -> bool:
        """Whether the best is alone, and shown to be better than everything else that was run."""
        return len(self.tied) == 1 and all(one.shown for kind, one in self.behind.items() if kind != self.best)


def choose(near: Sequence[NearSet], *, among: Collection[Kind] | None = None) -> Choice | None:
    """Choose for a data set with these near sets; None where no two arms were run on them.

    Args:
        near: what :func:`~sizewise.advice.near_sets.nearest` found.
        among: what may be chosen; None: everything.
    """
    covered: dict[Kind, float] = {}
    for one in near:
        for kind in one.set.chosen():
            covered[kind] = covered.get(kind, 0.0) + one.weight
    kinds = [kind for kind, weight in covered.items() if weight >= COVERED and (among is None or kind in among)]
    if len(kinds) < 2:
        return None
    tuned = tuned_losses(near)
    anchor = min(kinds, key=lambda kind: (-covered[kind], simplicity(kind, tuned)))
    gains = {kind: _mean(near, kind, anchor) for kind in kinds}
    best = max((kind for kind in kinds if gains[kind] is not None), key=lambda kind: gains[kind] or 0.0)
    behind = {kind: found for kind in kinds if (found := difference(near, best, kind)) is not None}
    tied = [kind for kind, one in behind.items() if kind == best or (not one.shown and one.estimate <= MARGIN)]
    tied.sort(key=lambda kind: simplicity(kind, tuned))
    return Choice(_decided(near, tied), best, tuple(tied), behind)


def _decided(near: Sequence[NearSet], tied: Sequence[Kind]) -> Kind:
    """The simplest; or another decision of its networks, which costs no training, where that is shown to be better."""
    simplest = tied[0]
    for kind in tied:
        if kind.loss == simplest.loss and kind != simplest:
            gain = difference(near, kind, simplest)
            if gain is not None and gain.shown and gain.estimate > 0:
                return kind
    return simplest


def difference(near: Sequence[NearSet], one: Kind, other: Kind) -> Difference | None:
    r"""One kind minus another on the near sets that have both; None where none has.

    With n_s the nearness of set s, d_s its difference and h_s the half width of its interval:

        Σ n_s d_s ± sqrt(Σ n_s² (h_s² + (1.96 τ)²)),   Σ n_s = 1,

    where τ² is what the differences of these sets vary beyond their intervals (DerSimonian and Laird): what sets
    disagree about is not known of the next one.
    """
    if one == other:
        return Difference(0.0, 0.0, 0.0, len(near))
    pairs = [(pair, each.weight) for each in near if (pair := _pair(each.set, one, other)) is not None]
    if not pairs:
        return None
    total = sum(weight for _, weight in pairs)
    estimate = sum(weight / total * of[0] for of, weight in pairs)
    between = _between([of for of, _ in pairs])
    half = sqrt(sum((weight / total) ** 2 * (of[1] ** 2 + Z**2 * between) for of, weight in pairs))
    return Difference(estimate, estimate - half, estimate + half, len(pairs))


def simplicity(kind: Kind, tuned: Collection[str] = ()) -> tuple[int, bool, int, bool, str]:
    """Sorts the simplest first: fewest terms, then no λ to choose, then by the list of losses, then argmax.

    Args:
        kind: a loss and a decision.
        tuned: losses whose λ had to be chosen among several.

    >>> sorted([Kind("RCE"), Kind("CE", "dice"), Kind("CE"), Kind("DiceCE")], key=simplicity)[:2]
    [Kind(loss='CE', decision='argmax'), Kind(loss='CE', decision='dice')]
    >>> simplicity(Kind("JaccardCE"), {"DiceCE"}) < simplicity(Kind("DiceCE"), {"DiceCE"})
    True
    """
    terms = next((count for count, names in TERMS.items() if kind.loss in names), kind.loss.count("+") + 2)
    names = TERMS.get(terms, ())
    place = names.index(kind.loss) if kind.loss in names else len(names)
    return terms, kind.loss in tuned, place, kind.decision != ARGMAX, kind.loss


def tuned_losses(near: Sequence[NearSet]) -> set[str]:
    """The losses that some near set has run with several λ."""
    found = set()
    for one in near:
        pairs = {(arm.loss, arm.weight) for arm in one.set.arms}
        losses = [loss for loss, _ in pairs]
        found |= {loss for loss in losses if losses.count(loss) > 1}
    return found


def _mean(near: Sequence[NearSet], one: Kind, other: Kind) -> float | None:
    """The weighted difference, on the sets that have both."""
    found = [(each.set.gains(), each.weight) for each in near]
    both = [(gains[one] - gains[other], weight) for gains, weight in found if one in gains and other in gains]
    total = sum(weight for _, weight in both)
    return sum(weight * gain for gain, weight in both) / total if both else None


def _pair(of: EvidenceSet, one: Kind, other: Kind) -> tuple[float, float] | None:
    """The difference of two arms on a set, and the half width of its interval.

    Two decisions of the same networks have an interval of their own, and so has what is compared with the reference. Of
    two others the half width is the root mean square of theirs with the reference, which is right if the scores of all
    arms vary alike; infinite where one has none.
    """
    arms = of.chosen()
    if one not in arms or other not in arms:
        return None
    first, second = arms[one], arms[other]
    gain = of.gains()[one] - of.gains()[other]
    if first.loss == second.loss and first.weight == second.weight and ARGMAX in (one.decision, other.decision):
        decided = first if second.decision == ARGMAX else second
        if decided.decided_low is not None and decided.decided_high is not None:
            return gain, (decided.decided_high - decided.decided_low) / 2
    halves = [_half(arm.low, arm.high) for arm in (first, second)]
    known = [half for half in halves if half > 0]  # the reference has none of its own
    return gain, sqrt(sum(half**2 for half in known) / len(known)) if known else 0.0


def _half(low: float | None, high: float | None) -> float:
    return inf if low is None or high is None else (high - low) / 2


def _between(pairs: Sequence[tuple[float, float]]) -> float:
    """DerSimonian and Laird's variance between sets."""
    finite = [(gain, max(half / Z, 1e-4) ** -2) for gain, half in pairs if half < inf]
    if len(finite) < 2:
        return 0.0
    total = sum(weight for _, weight in finite)
    mean = sum(weight * gain for gain, weight in finite) / total
    spread = sum(weight * (gain - mean) ** 2 for gain, weight in finite)
    scale = total - sum(weight**2 for _, weight in finite) / total
    return max(0.0, (spread - (len(finite) - 1)) / scale)
