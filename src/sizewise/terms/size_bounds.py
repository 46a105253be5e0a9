"""Quadratic penalties on proportions outside their bounds."""

from torch import Tensor

from sizewise.stats.region_stats import RegionStats
from sizewise.terms.size_limits import SizeLimitsTerm


def size_bounds(predicted: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """max(0, p̂_k − upper_k)² + max(0, lower_k − p̂_k)² of each region."""
    return (predicted - upper).clamp(min=0) ** 2 + (lower - predicted).clamp(min=0) ** 2


class SizeBounds(SizeLimitsTerm):
    """Size bounds, the mean over images of Σ_k max(0, p̂_k − upper_k)² + max(0, lower_k − p̂_k)²; 0 inside.

    Args:
        lower: smallest allowed proportion: a number, (K,) or (N, K); for sigmoid the foreground's, (C,) or (N, C).
        upper: largest allowed proportion, likewise.
        temperature: τ > 0, a factor on the logits in p̂.
        pixels: ``"all"`` takes p̂ over every pixel that the mask keeps, labelled or not.
        scope: ``"image"``, ``"batch"`` or ``"global"``.
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one weight per class.
        absent: ``"include"`` or ``"skip"`` classes without a pixel in the scope.
        class_reduction: ``"sum"`` or ``"mean"``.

    >>> import torch, sizewise as sw
    >>> target = torch.zeros(1, 1, 4, dtype=torch.long)
    >>> term = sw.SizeBounds([0.0, 0.0], [1.0, 0.2])
    >>> round(float(term(torch.zeros(1, 2, 1, 4), target)), 4)  # (0.5 − 0.2)²
    0.09
    """

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return size_bounds(self.predicted(stats), *self.limits(images))
