"""The L1 distance of region proportions: the paper's choice."""

from torch import Tensor

from sizewise.stats.region_stats import RegionStats
from sizewise.terms.size_target import SizeTargetTerm


def size_l1(predicted: Tensor, target: Tensor) -> Tensor:
    """|p̂_k − t_k| of each region."""
    return (predicted - target).abs()


class SizeL1(SizeTargetTerm):
    """L1 size penalty, the mean over classes, then images, of |p̂_k − t_k|.

    Its gradient keeps the same strength however small the predicted region, so that a missed structure is still pulled.

    Args:
        target: ``"ground_truth"``, or known proportions (K,) or (N, K); for sigmoid the foreground's, (C,) or (N, C).
        temperature: τ > 0, a factor on the logits in p̂.
        pixels: with known proportions, ``"all"`` takes p̂ over every pixel that the mask keeps, labelled or not.
        scope: ``"image"``, ``"batch"`` or ``"global"``.
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one weight per class.
        absent: ``"include"`` or ``"skip"`` classes without a pixel in the scope.
        class_reduction: ``"mean"`` as in the paper's released code, which its λ belong to, or ``"sum"`` as in its
            equation.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 0, 1]]])
    >>> float(sw.SizeL1()(torch.zeros(1, 2, 1, 4), target))  # (|0.5 − 0.75| + |0.5 − 0.25|) / 2
    0.25
    """

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return size_l1(self.predicted(stats), self.aimed_at(stats, images))
