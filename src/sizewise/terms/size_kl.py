"""The Kullback-Leibler divergence of region proportions."""

import torch
from torch import Tensor

from sizewise.stats.region_stats import RegionStats
from sizewise.terms.size_target import SizeTargetTerm


def size_kl(predicted: Tensor, target: Tensor) -> Tensor:
    """t_k (log t_k − log max(p̂_k, tiny)) of each region, 0 where t_k = 0.

    ``tiny`` is the smallest normal number: any larger floor would cut off the gradient of a region that is missed.
    """
    floor = torch.finfo(predicted.dtype).tiny
    return torch.xlogy(target, target) - target * predicted.clamp(min=floor).log()


class SizeKL(SizeTargetTerm):
    """KL size penalty, the mean over images of Σ_k t_k (log t_k − log p̂_k).

    Arguments as for :class:`SizeL1`. Its gradient grows without bound as p̂_k goes to 0, and puts no direct pull on a
    class whose target is 0.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 0, 1]]])
    >>> round(float(sw.SizeKL()(torch.zeros(1, 2, 1, 4), target)), 4)  # 0.75 log 1.5 + 0.25 log 0.5
    0.1308
    """

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return size_kl(self.predicted(stats), self.aimed_at(stats, images))
