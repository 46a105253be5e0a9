"""Log-Dice and cross-entropy, each split into ground-truth matching, a bias on the region sizes, and a constant."""

from dataclasses import dataclass

import torch
from torch import Tensor

from sizewise.checks import check_number
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.dice_bias import dice_bias
from sizewise.terms.reduction import or_one
from sizewise.theory.proportions import proportions
from sizewise.theory.size_bias import dice_bias_slope, size_kl_slope


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a loss for each region, tensors of one shape, (N, K) or (N, C, 2).

    Attributes:
        matching: how far the true region is from being predicted.
        bias: depends on the prediction through the region's size alone.
        constant: depends on the target alone.
        slope: ∂bias_k / ∂p̂_k, where p̂_k is the predicted proportion.

    >>> import torch, sizewise as sw
    >>> stats = sw.region_stats(torch.zeros(1, 3, 1, 4), torch.tensor([[[0, 0, 1, 2]]]))
    >>> parts = sw.theory.log_dice_parts(stats)
    >>> parts.total.shape, parts.foreground().total.shape
    (torch.Size([1, 3]), torch.Size([1, 2]))
    """

    matching: Tensor
    bias: Tensor
    constant: Tensor
    slope: Tensor

    @property
    def total(self) -> Tensor:
        """The loss of each region: matching + bias + constant."""
        return self.matching + self.bias + self.constant

    def foreground(self) -> "Parts":
        """The same without the background: class 0, or each sigmoid channel's first region."""
        return Parts(self.matching[..., 1:], self.bias[..., 1:], self.constant[..., 1:], self.slope[..., 1:])


def log_dice_parts(stats: RegionStats, *, smooth: float = 1.0) -> Parts:
    r"""Log-Dice of each region as matching + bias + constant; their sum is log(P+T+ε) − log(2I+ε).

    matching = −log((2I+ε) / (2T+ε)), at least 0, and 0 where the whole region is predicted with certainty;
    bias = log((P+T+ε) / |Ω|);
    constant = −log((2T+ε) / |Ω|), which is minus the bias of a prediction of the right size.

    The mean of ``total`` over the regions, then images, is :class:`~sizewise.LogDice`. With ``foreground()`` it is that
    of ``classes="foreground"``, and the one for sigmoid channels. The graph to the logits is kept.

    Args:
        stats: statistics that hold ``overlap`` and ``size``.
        smooth: ε > 0, in pixels.

    An absent class has matching 0. An image without a valid pixel has zeros everywhere.

    >>> import torch, sizewise as sw
    >>> stats = sw.region_stats(torch.zeros(1, 2, 1, 4), torch.tensor([[[0, 0, 0, 1]]]))
    >>> parts = sw.theory.log_dice_parts(stats)
    >>> [round(value, 4) for value in parts.matching[0].tolist()]  # −log(4/7), −log(2/3)
    [0.5596, 0.4055]
    >>> torch.allclose(parts.total.mean(), sw.LogDice().from_stats(stats))
    True
    """
    smooth = check_number("log_dice_parts", "smooth", smooth, minimum=0, exclusive=True)
    size, count = stats.size, stats.count
    counted = (stats.pixels > 0).unsqueeze(-1)
    return Parts(
        matching=torch.log(2 * count + smooth) - torch.log(2 * stats.overlap + smooth),
        bias=dice_bias(size, count, stats.pixels.unsqueeze(-1), smooth=smooth).where(counted, 0),
        constant=-dice_bias(count, count, stats.pixels.unsqueeze(-1), smooth=smooth).where(counted, 0),
        slope=dice_bias_slope(size, count, smooth=smooth) * stats.pixels.unsqueeze(-1),
    )


def cross_entropy_parts(stats: RegionStats) -> Parts:
    r"""Pixel-mean cross-entropy of an image as H(F|K) + KL(ŷ‖p̂) + H(ŷ), region by region.

    matching = −1/|Ω| Σ_{i∈Ω_k} log(p_ik / p̂_k), which sums to H(F|K): 0 if every pixel predicts alike, and −H(ŷ) if
    every pixel is right with certainty;
    bias = ŷ_k log(ŷ_k / p̂_k), which sums to KL(ŷ‖p̂);
    constant = −ŷ_k log ŷ_k, which sums to the entropy H(ŷ).

    ``total`` is nll_k / |Ω|, and its sum over the regions is the image's cross-entropy. The graph is kept.

    Args:
        stats: statistics that hold ``nll`` and ``size``.

    An absent class has zeros (0 log 0 = 0). A present class whose p̂_k is 0 counts with the smallest normal number in
    its place, in matching and bias alike, so that both are finite and the sum stays exact. An image without a valid
    pixel has zeros everywhere.

    >>> import torch, sizewise as sw
    >>> stats = sw.region_stats(torch.zeros(1, 2, 1, 4), torch.tensor([[[0, 0, 0, 1]]]))
    >>> parts = sw.theory.cross_entropy_parts(stats)
    >>> float(parts.matching.abs().sum())  # every pixel predicts alike
    0.0
    >>> round(float(parts.bias.sum()), 4), round(float(parts.constant.sum()), 4)  # 0.75 log 1.5 + 0.25 log 0.5; H(ŷ)
    (0.1308, 0.5623)
    """
    predicted, true = proportions(stats)
    log_predicted = predicted.clamp(min=torch.finfo(predicted.dtype).tiny).log()
    return Parts(
        matching=stats.nll / or_one(stats.pixels).unsqueeze(-1) + true * log_predicted,
        bias=torch.xlogy(true, true) - true * log_predicted,
        constant=torch.special.entr(true),
        slope=size_kl_slope(predicted, true) - 1,
    )


def dice_matching(stats: RegionStats) -> Tensor:
    r"""−log(I_k / T_k) of each region, 0 where it is absent: log-Dice's matching without smoothing. Their sum is DF.

    −log is convex, so each is at most nll_k / T_k, and DF at most :class:`~sizewise.BalancedCrossEntropy` of the image.
    DF is not bounded by the pixel-mean cross-entropy. An overlap of 0 counts as the smallest normal number.

    Args:
        stats: statistics that hold ``overlap``.

    >>> import torch, sizewise as sw
    >>> stats = sw.region_stats(torch.zeros(1, 2, 1, 4), torch.tensor([[[0, 0, 0, 1]]]))
    >>> round(float(sw.theory.dice_matching(stats).sum()), 4)  # 2 log 2
    1.3863
    >>> round(float(sw.CrossEntropy().from_stats(stats)), 4)  # log 2, which is less
    0.6931
    """
    overlap = stats.overlap.clamp(min=torch.finfo(stats.overlap.dtype).tiny)
    return torch.where(stats.count > 0, or_one(stats.count).log() - overlap.log(), 0)
