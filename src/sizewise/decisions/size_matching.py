"""The likeliest labels whose regions have the expected sizes: argmax_k (log p_ik + b_k), with b such that V_k = G_k.

The dual problem, min_b Σ_i max_k (log p_ik + b_k) − Σ_k b_k G_k, is convex, and V − G is a subgradient of it.
"""

import torch
from torch import Tensor

from sizewise.decisions.rule import Rule, argmax_rule
from sizewise.decisions.search import Passes, settled

PASSES = 30
# What is aimed at: ten times closer than promised.
CLOSE = 5e-4
MOST_STEP = 1.5
DAMPING = 0.8


def size_matched_rule(passes: Passes, dtype: torch.dtype, device: torch.device) -> Rule:
    """The shifts that match the sizes as closely as was met; ``dtype`` is what scores are computed in."""
    plain = argmax_rule(passes.rows, passes.classes, device)
    sums = passes.take(plain)
    chosen, expected = sums.chosen.double(), sums.expected
    if passes.classes == 2:
        return _shifted(plain, _bisect(passes, plain, chosen, expected, dtype))
    return _shifted(plain, _ascend(passes, plain, chosen, expected))


def _shifted(plain: Rule, shift: Tensor) -> Rule:
    return Rule(plain.gain, plain.threshold, shift=shift)


def _ascend(passes: Passes, plain: Rule, chosen: Tensor, expected: Tensor) -> Tensor:
    """Several classes: a secant step for each in log V, damped, since the classes compete."""
    shift, slope = torch.zeros_like(expected), torch.ones_like(expected)
    best, best_error = shift, (chosen - expected).abs().sum(-1)
    close = CLOSE * expected.sum(-1) + passes.classes / 2
    for _ in range(PASSES - 1):
        if settled(best_error <= close):
            break
        wanted = torch.log((expected + 0.5) / (chosen + 0.5))
        step = (DAMPING * wanted / slope).clamp(-MOST_STEP, MOST_STEP)
        shift = shift + step
        before, chosen = chosen, passes.take(_shifted(plain, shift)).chosen.double()
        seen = torch.log((chosen + 0.5) / (before + 0.5)) / step.where(step != 0, 1)
        moved = (step.abs() > 1e-9) & (seen > 0.02)
        slope = torch.where(moved, (slope * seen).sqrt().clamp(0.05, 20), 1.5 * slope)
        error = (chosen - expected).abs().sum(-1)
        better = (error < best_error) & (best_error > close)  # what is close stays, whatever others still need
        best = torch.where(better.unsqueeze(-1), shift, best)
        best_error = torch.where(better, error, best_error)
    return best


def _bisect(passes: Passes, plain: Rule, chosen: Tensor, expected: Tensor, dtype: torch.dtype) -> Tensor:
    """Two classes: V_1 grows with b_1, step by step, so bisection over all numbers of ``dtype`` finds the closest."""
    target = expected[:, 1]
    low, high = (torch.full_like(target, sign * torch.finfo(dtype).max) for sign in (-1, 1))
    best, best_error = torch.zeros_like(target), (chosen[:, 1] - target).abs()
    middle, found = best, chosen[:, 1]
    for _ in range(torch.finfo(dtype).bits):
        low, high = torch.where(found <= target, middle, low), torch.where(found >= target, middle, high)
        middle = between(low, high, dtype)
        if settled((best_error < 0.5) | (middle == low) | (middle == high)):
            break
        shift = torch.stack((torch.zeros_like(middle), middle), -1)
        found = passes.take(_shifted(plain, shift)).chosen[:, 1].double()
        error = (found - target).abs()
        better = (error < best_error) & (best_error >= 0.5)
        best, best_error = torch.where(better, middle, best), torch.where(better, error, best_error)
    return torch.stack((torch.zeros_like(best), best), -1)


def between(low: Tensor, high: Tensor, dtype: torch.dtype) -> Tensor:
    """A number of ``dtype`` with as many others below it, down to ``low``, as above it, up to ``high``.

    >>> round(between(torch.tensor([0.0]), torch.tensor([torch.finfo(torch.float32).max]), torch.float32).item(), 3)
    1.5
    """
    integers = torch.int64 if dtype == torch.float64 else torch.int32
    least = torch.iinfo(integers).min

    def order(values: Tensor) -> Tensor:
        bits = values.to(dtype).view(integers)
        return torch.where(bits < 0, least - bits, bits)  # floats of one sign are ordered as their bits are

    first, last = order(low), order(high)
    middle = (first >> 1) + (last >> 1) + (first & last & 1)
    return torch.where(middle < 0, least - middle, middle).view(dtype).to(low.dtype)
