"""Probability targets of one chunk, with the same methods as :class:`sizewise.stats.labels.Labels`."""

import torch
from torch import Tensor

from sizewise.stats.focal import focal_slope, focal_value


class Probabilities:
    """The target y (B, K, M) of one chunk: one-hot or soft labels; pixels that are not valid count nowhere.

    Args:
        probabilities: (B, K, M), in the sums' dtype.
        valid: bool, (B, M), or None for all.
    """

    def __init__(self, probabilities: Tensor, valid: Tensor | None) -> None:
        self.y = probabilities if valid is None else probabilities.where(valid.unsqueeze(1), 0)

    def count(self) -> Tensor:
        """Σ_i y_ik, (B, K)."""
        return self.y.sum(-1)

    def log_p(self, shifted: Tensor, log_inverse: Tensor) -> Tensor:
        """The log-probability of every class, (B, K, M)."""
        return shifted + log_inverse.unsqueeze(1)

    def focal(self, log_p: Tensor, gamma: float) -> Tensor:
        """Σ_i −y_ik (1 − p_ik)^γ log p_ik, (B, K)."""
        # 0 · log 0 = 0: a class whose logit is −inf costs nothing where the target does not ask for it.
        return focal_value(log_p, gamma).clamp_(max=torch.finfo(log_p.dtype).max).mul_(self.y).sum(-1)

    def overlap(self, log_p: Tensor) -> Tensor:
        """Σ_i min(p_ik, y_ik), (B, K)."""
        return log_p.exp().minimum(self.y).sum(-1)

    def focal_pull(self, coefficient: Tensor, log_p: Tensor, gamma: float) -> Tensor:
        """What the focal sums add to q, (B, K, M)."""
        return (coefficient.unsqueeze(-1) * self.y).mul_(focal_slope(log_p, gamma))

    def overlap_pull(self, coefficient: Tensor, log_p: Tensor) -> Tensor:
        """What the overlap sums add to q, (B, K, M): only where p < y does more p add overlap."""
        p = log_p.exp()
        return torch.where(p < self.y, coefficient.unsqueeze(-1) * p, 0).neg_()

    def per_pixel(self, pull: Tensor) -> Tensor:
        """Σ_k q_ik, (B, M)."""
        return pull.sum(1)

    def subtract_foreground(self, pull: Tensor, out: Tensor) -> None:
        """Take the part of q (B, 2, M) that belongs to class 1 off ``out``, (B, M)."""
        out.sub_(pull[:, 1])

    def subtract(self, pull: Tensor, out: Tensor) -> None:
        """Take q off ``out``, (B, K, M)."""
        out.sub_(pull)
