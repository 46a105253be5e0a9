"""The focal weight of −log p, and what it makes of its gradient; γ = 0 is the negative log-likelihood."""

import torch
from torch import Tensor


def focal_value(log_p: Tensor, gamma: float) -> Tensor:
    """−(1 − p)^γ log p, with 1 − p from expm1 so that it keeps its digits near p = 1."""
    return log_p.neg() if gamma == 0 else torch.expm1(log_p).neg_().pow_(gamma).mul_(log_p).neg_()


def focal_slope(log_p: Tensor, gamma: float) -> Tensor | float:
    """(1−p)^γ [1 + γ p (−log p)/(1−p)]: the factor on the gradient of −log p."""
    if gamma == 0:
        return 1.0
    log_p = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # p = 0: then 0 · −log p is 0, not 0 · inf
    rest = torch.expm1(log_p).neg_()
    ratio = torch.where(rest > 0, log_p.neg() / rest, 1.0)
    return rest.pow(gamma).mul_(ratio.mul_(log_p.exp()).mul_(gamma).add_(1))
