"""The temperature that makes the labels of validation pixels likeliest."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

LOWEST, HIGHEST = 0.05, 20.0
STEPS = 60
# Relative change of the temperature at which the search ends.
CLOSE = 1e-5


def fit_temperature(batches: Callable[[], Iterable[Any]], sigmoid: bool) -> float:
    """The temperature with the smallest mean −log p of the labels; ``batches()`` gives (logits, target, valid).

    In β = 1/T the sum is convex, so Newton's steps, kept between the bounds that are known, meet the minimum.
    """
    low, high = 1 / HIGHEST, 1 / LOWEST
    beta = 1.0
    for turn in range(STEPS):
        slope = curvature = 0.0
        for logits, target, valid in batches():
            one, two = (float(value) for value in _derivatives(logits, target, valid, beta, sigmoid))
            slope, curvature = slope + one, curvature + two
        if not math.isfinite(slope):
            raise ValueError(
                "fit_decision: the likelihood of the labels has no number: logits are NaN or infinite at pixels that "
                "count, or −inf for the class of a label. Leave these pixels out with a mask."
            )
        if slope == 0:
            break
        low, high = (beta, high) if slope < 0 else (low, beta)
        step = beta - slope / curvature if curvature > 0 else low
        halves = turn % 3 == 2 or not low < step < high  # where the minimum is at a bound, Newton's steps are short
        new = math.sqrt(low * high) if halves else step
        if abs(new - beta) <= CLOSE * beta or abs(high - low) <= CLOSE * beta:
            beta = new
            break
        beta = new
    return min(max(1 / beta, LOWEST), HIGHEST)


def _derivatives(
    logits: Tensor, target: Tensor, valid: Tensor | None, beta: float, sigmoid: bool
) -> tuple[Tensor, Tensor]:
    """First and second derivative by β of Σ −log softmax(β z)_y: Σ (E[z] − z_y) and Σ Var[z]."""
    totals = torch.zeros(2, dtype=torch.float64, device=logits.device)
    for image in range(len(logits)):  # an image at a time: no second copy of the batch
        z = logits[image].flatten(1).double()
        y = target[image].flatten(1)
        if sigmoid:  # the two classes of each channel have the scores 0 and z
            p, rest = torch.sigmoid(beta * z), torch.sigmoid(-beta * z)
            y = y.double()
            parts = [_times((1 - y) * p - y * rest, z), _times(p * rest, z * z)]
        else:
            p = torch.softmax(beta * z, 0)
            shares = y.dtype.is_floating_point
            at_label = _times(y.double(), z).sum(0) if shares else z.gather(0, y.long().clamp(0, len(z) - 1)).squeeze(0)
            away = z - at_label  # less z_y from the start: near certainty the difference is all there is
            mean = _times(p, away).sum(0)
            parts = [mean, _times(p, (away - mean) ** 2).sum(0)]
        for place, part in enumerate(parts):
            kept = part if valid is None else part.where(valid[image].flatten(1).view(-1, part.shape[-1]), 0)
            totals[place] += kept.sum(dtype=torch.float64)
    return totals[0], totals[1]


def _times(weight: Tensor, values: Tensor) -> Tensor:
    """The product, 0 where the weight is: a class that cannot be has the logit −inf."""
    return (weight * values).where(weight != 0, 0)
