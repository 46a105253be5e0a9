"""A decision as a graph without branches: what ``sizewise.decide`` does to one image, for files that others run."""

import torch
from torch import Tensor

from sizewise.decisions.rule import Rule
from sizewise.decisions.search import Aim, best_rule
from sizewise.decisions.streaming import Sums

PRUNE = 0.5  # the default of ``decide``


class WholeImage:
    """Probabilities (rows, K, M) at once: a graph has no chunks. The background, if there is one, is class 0."""

    def __init__(self, probabilities: Tensor) -> None:
        self.probabilities = probabilities
        self.rows, self.classes = probabilities.shape[:2]

    def labels(self, rule: Rule) -> Tensor:
        """(rows, M): the largest score; of equal ones the first."""
        p = self.probabilities
        if rule.is_argmax:
            return p.argmax(1)
        gain, threshold = (one.to(p.dtype).unsqueeze(-1) for one in (rule.gain, rule.threshold))
        scores = (p - threshold) * gain
        if rule.bound is not None:
            ids = torch.arange(self.classes, device=p.device).view(1, -1, 1)
            elsewhere = p.argmax(1).unsqueeze(1) != ids
            scores = scores.masked_fill(rule.bound.unsqueeze(-1) & elsewhere, -torch.inf)
        return scores.argmax(1)

    def take(self, rule: Rule) -> Sums:
        """The sums of the labels that ``rule`` gives."""
        p = self.probabilities
        ids = torch.arange(self.classes, device=p.device).view(1, -1, 1)
        taken = (self.labels(rule).unsqueeze(1) == ids).double()
        wide = p.double()
        return Sums(taken.sum(-1), (wide * taken).sum(-1), wide.sum(-1), wide.amax(-1))


class OneRatio(Aim):
    """The aim of two classes of which one is the background: known without looking at a tensor."""

    @property
    def one_class(self) -> bool:
        """It is one."""
        return True


class SeveralRatios(Aim):
    """The aim of more classes, or of two that both count."""

    @property
    def one_class(self) -> bool:
        """They are several."""
        return False


def graph_labels(logits: Tensor, *, metric: str, sigmoid: bool, background: int | None, temperature: float) -> Tensor:
    """(1, K, *S) logits to labels (*S), or for sigmoid (C, *S); ``metric`` is argmax, dice or iou."""
    spatial = logits.shape[2:]
    if sigmoid:
        rows = logits[0].flatten(1)
        rows = torch.stack((torch.zeros_like(rows), rows), 1)
    else:
        rows = logits.flatten(2)
    given = WholeImage(torch.softmax(rows / temperature, 1))
    if metric == "argmax":
        labels = rows.argmax(1)
    else:
        flags = [sigmoid or background is not None] + [False] * (given.classes - 1)
        scored = ~torch.tensor(flags, device=logits.device)
        kind = OneRatio if given.classes == 2 and any(flags) else SeveralRatios
        labels = given.labels(best_rule(given, kind(metric, scored, PRUNE))[0])
    return labels.view(len(labels), *spatial) if sigmoid else labels.view(*spatial)
