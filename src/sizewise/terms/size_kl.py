"""The Kullback-Leibler divergence of region proportions."""

from typing import Any

import torch
from torch import Tensor

from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import Classes
from sizewise.terms.size_target import SizeTargetTerm


def size_kl(predicted: Tensor, target: Tensor) -> Tensor:
    """t_k (log t_k − log max(p̂_k, tiny)) − t_k + p̂_k of each region, p̂_k where t_k = 0.

    Over all regions −t_k + p̂_k add up to 0, which leaves the Kullback-Leibler divergence. With them each region alone
    is smallest, and 0, at p̂_k = t_k, so a choice or a weighting of regions aims at the right sizes too.

    ``tiny`` is the smallest normal number: any larger floor would cut off the gradient of a region that is missed.
    """
    floor = torch.finfo(predicted.dtype).tiny
    return torch.xlogy(target, target) - target * predicted.clamp(min=floor).log() - target + predicted


class SizeKL(SizeTargetTerm):
    """KL size penalty, the mean over images of Σ_k [t_k (log t_k − log p̂_k) − t_k + p̂_k].

    Arguments as for :class:`SizeL1`, but a sum over classes by default: over all of them the last two cancel. Its
    gradient grows without bound as p̂_k goes to 0. A class whose target is 0 is pulled no harder than the others are
    pushed: its slope is 1, that of a pixel that the others lack.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 0, 1]]])
    >>> round(float(sw.SizeKL()(torch.zeros(1, 2, 1, 4), target)), 4)  # 0.75 log 1.5 + 0.25 log 0.5
    0.1308
    """

    def __init__(
        self,
        *,
        target: Any = "ground_truth",
        temperature: float = 10.0,
        pixels: str = "valid",
        scope: str = "image",
        classes: Classes = "all",
        class_weight: Any = None,
        absent: str = "include",
        class_reduction: str = "sum",
    ) -> None:
        super().__init__(
            target=target,
            temperature=temperature,
            pixels=pixels,
            scope=scope,
            classes=classes,
            class_weight=class_weight,
            absent=absent,
            class_reduction=class_reduction,
        )

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return size_kl(self.predicted(stats), self.aimed_at(stats, images))
