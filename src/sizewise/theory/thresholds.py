"""The decision for one class: which threshold its probabilities need for accuracy, for Dice, and for the right size.

p are calibrated probabilities of one class, s a region, V = |s|, I = Σ_s p, G = Σ p. All regions worth looking at keep
the most probable pixels, so a threshold names them: {p > t}.
"""

import torch
from torch import Tensor

from sizewise.stats.inputs import dtype_name


def expected_dice(p: Tensor, region: Tensor) -> Tensor:
    r"""The expected Dice of a region, to first order: F = 2 I / (V + G).

    It is the ratio of the expectations of 2 \|s ∩ y\| and \|s\| + \|y\|, where y is the true region. The expectation of
    the ratio differs from it where the size of y varies much, as when pixels err together in large parts. F is at most
    1, since I ≤ V and I ≤ G; it is 0 where V and G both are.

    Args:
        p: probabilities of one class, with the pixels on the last axis.
        region: bool, of the same shape or one that broadcasts.

    >>> import torch, sizewise as sw
    >>> p = torch.tensor([0.9, 0.45, 0.4, 0.1])
    >>> round(float(sw.theory.expected_dice(p, p > 0.5)), 4)  # 2 · 0.9 / (1 + 1.85)
    0.6316
    >>> round(float(sw.theory.expected_dice(p, p > 0.3)), 4)  # 2 · 1.75 / (3 + 1.85)
    0.7216
    """
    p = _checked("expected_dice", p)
    total = region.sum(-1) + p.sum(-1)
    return 2 * (p * region).sum(-1) / total.masked_fill(total == 0, 1)


def expected_accuracy(p: Tensor, region: Tensor) -> Tensor:
    r"""The expected share of pixels that a region gets right: (Σ_s p + Σ_{not s} (1 − p)) / \|Ω\|.

    That is 1 + (2 I − V − G) / \|Ω\|, largest at {p > 1/2}. Among regions of one size V it grows with I alone, and so
    does F: at a given size, and at V = G in particular, the best region for accuracy is the best for Dice.

    Args:
        p: probabilities of one class, with the pixels on the last axis.
        region: bool.

    >>> import torch, sizewise as sw
    >>> p = torch.tensor([0.9, 0.45, 0.4, 0.1])
    >>> round(float(sw.theory.expected_accuracy(p, p > 0.5)), 4)  # (0.9 + 0.55 + 0.6 + 0.9) / 4
    0.7375
    """
    p = _checked("expected_accuracy", p)
    return torch.where(region, p, 1 - p).mean(-1)


def dice_threshold(p: Tensor) -> Tensor:
    r"""The threshold whose region has the largest F of all regions: t = D / 2, half of the Dice that it reaches.

    A pixel raises F = 2 I / (V + G) if and only if 2 p > F. So the best region is {p > D / 2}, with or without pixels
    of exactly D / 2. D ≤ 1, hence t ≤ 1/2: the region holds that of argmax, {p > 1/2}, and is never smaller. Over the
    thresholds F rises up to t and falls after it. I / (V + G − I) = F / (2 − F): the best region for IoU is the same.

    Args:
        p: probabilities of one class, with the pixels on the last axis.

    The prefix of the sorted probabilities with the largest F is taken; ``sw.decide`` finds it without sorting.

    >>> import torch, sizewise as sw
    >>> p = torch.tensor([0.9, 0.45, 0.4, 0.1])
    >>> t = sw.theory.dice_threshold(p)
    >>> round(float(t), 4), (p > t).tolist()
    (0.3608, [True, True, True, False])
    >>> torch.allclose(sw.theory.expected_dice(p, p > t), 2 * t)
    True
    """
    p = _checked("dice_threshold", p)
    inside = p.sort(-1, descending=True).values.cumsum(-1)
    chosen = torch.arange(1, p.shape[-1] + 1, dtype=p.dtype, device=p.device)
    return (inside / (chosen + p.sum(-1, keepdim=True))).amax(-1)


def size_threshold(p: Tensor) -> Tensor:
    r"""The threshold whose region has the expected size: V = G, rounded to whole pixels, but for ties.

    It lies in the middle between the last pixel that is kept and the first that is not. Its region has the right size
    on average, which argmax's and Dice's need not have: argmax's is too small where most of the class is doubtful.

    Args:
        p: probabilities of one class, with the pixels on the last axis.

    >>> import torch, sizewise as sw
    >>> p = torch.tensor([0.9, 0.45, 0.4, 0.1])  # G = 1.85
    >>> round(float(sw.theory.size_threshold(p)), 4)  # between 0.45 and 0.4
    0.425
    """
    p = _checked("size_threshold", p)
    ends = torch.ones_like(p[..., :1]), torch.zeros_like(p[..., :1])
    ordered = torch.cat((ends[0], p.sort(-1, descending=True).values, ends[1]), -1)
    kept = p.sum(-1, keepdim=True).round().long()
    return ((ordered.gather(-1, kept) + ordered.gather(-1, kept + 1)) / 2).squeeze(-1)


def _checked(where: str, p: Tensor) -> Tensor:
    if not p.is_floating_point() or p.dim() == 0 or p.shape[-1] == 0:
        raise ValueError(
            f"{where}: p must be floating point with at least one pixel on its last axis, got {dtype_name(p)} of shape "
            f"{tuple(p.shape)}. Flatten the image: p.flatten()."
        )
    if bool(((p < 0) | (p > 1)).any()):
        raise ValueError(f"{where}: p lies between 0 and 1, got values from {float(p.min()):g} to {float(p.max()):g}.")
    return p
