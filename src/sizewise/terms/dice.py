"""Dice and log-Dice."""

import torch
from torch import Tensor

from sizewise.stats.region_stats import RegionStats
from sizewise.terms.overlap import OverlapTerm


def dice(stats: RegionStats, *, smooth: float) -> Tensor:
    """1 − (2I + ε) / (P + T + ε) of each region."""
    return 1 - (2 * stats.overlap + smooth) / (stats.size + (stats.count + smooth))


def log_dice(stats: RegionStats, *, smooth: float) -> Tensor:
    """log(P + T + ε) − log(2I + ε) of each region."""
    return torch.log(stats.size + (stats.count + smooth)) - torch.log(2 * stats.overlap + smooth)


class Dice(OverlapTerm):
    """Soft Dice, the mean over classes, then images, of 1 − (2I + ε) / (P + T + ε).

    Args:
        smooth: ε > 0, in pixels; keeps an absent class finite, and its gradient alive.
        scope: ``"image"``, ``"batch"`` (sums over the batch first) or ``"global"`` (over all ranks).
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one weight per class.
        absent: ``"include"`` classes without a pixel in the scope, or ``"skip"`` them.
        class_reduction: ``"mean"`` or ``"sum"``.

    A sigmoid channel's value is that of its foreground.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 1, 1]]])
    >>> round(float(sw.Dice()(torch.zeros(1, 2, 1, 4), target)), 4)  # 1 − (2 + 1) / (2 + 2 + 1) for each class
    0.4
    """

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return dice(stats, smooth=self.smooth)


class LogDice(OverlapTerm):
    """Logarithmic Dice, the mean over classes, then images, of log(P + T + ε) − log(2I + ε).

    It bounds Dice from above, and never loses the gradient of a missed region to a clamp. Arguments as for
    :class:`Dice`.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 1, 1]]])
    >>> round(float(sw.LogDice()(torch.zeros(1, 2, 1, 4), target)), 4)  # log 5 − log 3
    0.5108
    """

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return log_dice(stats, smooth=self.smooth)
