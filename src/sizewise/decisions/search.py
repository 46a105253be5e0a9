"""From argmax to the best rule: passes over the pixels, each followed by a formula on its sums."""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from sizewise.decisions.rule import Rule, argmax_rule, expected_score, improved, mixed

UPDATES = 4
UPDATES_OF_ONE_CLASS = 32
# An update that lowers F is repeated half as far; so many times in all.
REPEATS = 4


class Passes(Protocol):
    """What can take the sums of a rule over its pixels, (rows, K); see :class:`sizewise.decisions.streaming.Sums`."""

    rows: int
    classes: int

    def take(self, rule: Rule) -> Any:
        """V, I, G and the largest p under a rule."""


class Aim(NamedTuple):
    """What the labels are for.

    Attributes:
        metric: "dice" or "iou".
        scored: the classes that count, bool (K,).
        prune: a class whose largest p is not above it may only lose pixels.
    """

    metric: str
    scored: Tensor
    prune: float

    @property
    def one_class(self) -> bool:
        """Whether there is a single ratio, whose updates never overshoot."""
        return int(self.scored.sum()) == 1

    def bound(self, highest: Tensor) -> Tensor:
        """Which classes may take only pixels whose argmax they are, from the largest p of each, (rows, K).

        Without a background every pixel needs a class: if none is left there, none is bound.
        """
        bound = self.scored & (highest <= self.prune)
        return bound & ~bound.all(-1, keepdim=True)


def best_rule(passes: Passes, aim: Aim) -> tuple[Rule, Tensor]:
    """The rule with the largest F that the updates meet, argmax included, and that F, for each row.

    Each update follows from the sums of the best rule so far. With one scored class they go on until F stops growing,
    which is then the largest of all label maps. With several there are four that raise F; one that lowers it is taken
    back and repeated half as far.
    """
    device = aim.scored.device
    best = argmax_rule(passes.rows, passes.classes, device)
    sums = passes.take(best)
    bound, expected = aim.bound(sums.highest), sums.expected
    best_score = expected_score(aim.metric, sums.chosen, sums.inside, expected, aim.scored)
    full = improved(aim.metric, sums.chosen, sums.inside, expected, aim.scored, bound)
    share = torch.ones_like(best_score)
    raised = torch.zeros_like(best_score, dtype=torch.int64)
    going = torch.ones_like(best_score, dtype=torch.bool)
    wanted = UPDATES_OF_ONE_CLASS if aim.one_class else UPDATES
    for _ in range(wanted + (0 if aim.one_class else REPEATS)):
        rule = mixed(best, full, share)
        sums = passes.take(rule)
        score = expected_score(aim.metric, sums.chosen, sums.inside, expected, aim.scored)
        better, worse = going & (score > best_score), going & (score < best_score)
        next_full = improved(aim.metric, sums.chosen, sums.inside, expected, aim.scored, bound)
        best, full = rule.where(better, best), next_full.where(better, full)
        best_score = torch.where(better, score, best_score)
        share = torch.where(better, 1.0, torch.where(worse, share / 2, share))
        raised = raised + better
        # Equal F: the labels have not changed, or changed for nothing.
        going = (better & (raised < wanted)) | (worse & (not aim.one_class))
        if settled(~going):
            break
    return best, best_score


def settled(rows: Tensor) -> bool:
    """Whether all rows are; asked only where that costs no wait: a GPU, and a graph, go through all passes."""
    return rows.device.type == "cpu" and not torch.compiler.is_compiling() and bool(rows.all())
