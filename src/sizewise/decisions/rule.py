"""The rule that turns probabilities into labels, and how it is improved: formulas on sums per image and class.

For labels s of one image: V_k = |{i : s_i = k}|, I_k = Σ_{s_i = k} p_ik, G_k = Σ_i p_ik. The expected score of s is, to
first order, F(s) = Σ_k 2 I_k / (V_k + G_k) for Dice and Σ_k I_k / (V_k + G_k − I_k) for IoU, over the scored classes. A
pixel should go to the class whose term grows most: s_i = argmax_k a_k (p_ik − t_k) with

    t_k = I_k / (V_k + G_k),   a_k = 2 / (V_k + G_k)  or  (V_k + G_k) / (V_k + G_k − I_k)²,

and to the background where no class gains. For Dice and IoU alike, t_k is half of the Dice that the class reaches.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

RATIOS = ("dice", "iou")
SIZE = "size"
METRICS = (*RATIOS, SIZE, "argmax")


@dataclass(frozen=True)
class Rule:
    """Scores of which the largest gives the label, (rows, K): a (p − t), or log p + b.

    Attributes:
        gain: a; 1 for every class is argmax.
        threshold: t.
        shift: b, where sizes are matched; ``gain`` and ``threshold`` are then not used.
        bound: True where a class may take only pixels whose argmax it is.
        is_argmax: whether it is known to be argmax.
    """

    gain: Tensor
    threshold: Tensor
    shift: Tensor | None = None
    bound: Tensor | None = None
    is_argmax: bool = False

    def at(self, rows: slice | Tensor) -> "Rule":
        """The rule of some rows."""
        return Rule(
            self.gain[rows],
            self.threshold[rows],
            None if self.shift is None else self.shift[rows],
            None if self.bound is None else self.bound[rows],
            self.is_argmax,
        )

    def where(self, rows: Tensor, other: "Rule") -> "Rule":
        """This rule for the rows that are True, ``other`` for the rest."""
        here, free = rows.unsqueeze(-1), torch.zeros_like(self.gain, dtype=torch.bool)
        mine, theirs = (free if rule.bound is None else rule.bound for rule in (self, other))
        return Rule(
            torch.where(here, self.gain, other.gain),
            torch.where(here, self.threshold, other.threshold),
            bound=(here & mine) | (~here & theirs),  # no `where`: runtimes of exported graphs lack that of bools
        )

    def for_images(self, images: int) -> "Rule":
        """The rule of pooled images, for each of so many: its rows again and again."""
        return self.at(torch.arange(len(self.gain), device=self.gain.device).repeat(images))


def argmax_rule(rows: int, classes: int, device: torch.device) -> Rule:
    """The largest probability."""
    return Rule(
        torch.ones(rows, classes, dtype=torch.float64, device=device),
        torch.zeros(rows, classes, dtype=torch.float64, device=device),
        is_argmax=True,
    )


def expected_score(metric: str, chosen: Tensor, inside: Tensor, expected: Tensor, scored: Tensor) -> Tensor:
    """F of each row, from V, I and G, (rows, K) in float64; ``scored`` is a bool (K,).

    >>> import torch
    >>> V, I, G = (torch.tensor([one], dtype=torch.float64) for one in ([2.0, 2.0], [1.8, 1.5], [2.2, 1.8]))
    >>> round(float(expected_score("dice", V, I, G, torch.tensor([False, True]))), 4)  # 2 · 1.5 / (2 + 1.8)
    0.7895
    """
    total = chosen + expected
    ratio = 2 * inside / _or_one(total) if metric == "dice" else inside / _or_one(total - inside)
    return ratio.where(scored & (total > 0), 0).sum(-1)


def improved(metric: str, chosen: Tensor, inside: Tensor, expected: Tensor, scored: Tensor, bound: Tensor) -> Rule:
    """The rule that follows from V, I and G; the background's score is 0."""
    total = chosen + expected
    there = scored & (total > 0)
    threshold = inside / _or_one(total)
    gain = 2 / _or_one(total) if metric == "dice" else total / _or_one(total - inside) ** 2
    return Rule(gain.where(there, 0), threshold.where(there, 0), bound=bound)


def mixed(old: Rule, new: Rule, share: Tensor) -> Rule:
    """A rule between two: scores are linear in a and a t, and their scale does not matter. ``share`` is (rows,)."""
    share = share.unsqueeze(-1)
    scales = [_or_one(rule.gain.sum(-1, keepdim=True)) for rule in (old, new)]
    gain = (1 - share) * old.gain / scales[0] + share * new.gain / scales[1]
    offset = (1 - share) * old.gain * old.threshold / scales[0] + share * new.gain * new.threshold / scales[1]
    return Rule(gain, offset / _or_one(gain), bound=new.bound)


def _or_one(divisor: Tensor) -> Tensor:
    return divisor.masked_fill(divisor == 0, 1)
