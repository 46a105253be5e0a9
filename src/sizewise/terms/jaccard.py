"""The Jaccard index (intersection over union)."""

from torch import Tensor

from sizewise.stats.region_stats import RegionStats
from sizewise.terms.overlap import OverlapTerm


def jaccard(stats: RegionStats, *, smooth: float) -> Tensor:
    """1 − (I + ε) / (P + T − I + ε) of each region."""
    overlap = stats.overlap
    return 1 - (overlap + smooth) / (stats.size + stats.count - overlap + smooth)


class Jaccard(OverlapTerm):
    """Soft Jaccard loss, the mean over classes, then images, of 1 − (I + ε) / (P + T − I + ε).

    Arguments as for :class:`Dice`.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 1, 1]]])
    >>> round(float(sw.Jaccard()(torch.zeros(1, 2, 1, 4), target)), 4)  # 1 − (1 + 1) / (2 + 2 − 1 + 1)
    0.5
    """

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return jaccard(stats, smooth=self.smooth)
