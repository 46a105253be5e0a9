"""Log-barrier penalties on proportions near and outside their bounds."""

import math
from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_number
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import Classes
from sizewise.terms.size_limits import SizeLimitsTerm


def log_barrier(excess: Tensor, *, t: float) -> Tensor:
    """ψ(x) = −log(−x) / t for x <= −1/t², continued by its tangent t x − log(1/t²)/t + 1/t beyond."""
    edge = -1 / t**2
    inside = -torch.log(-excess.clamp(max=edge)) / t
    beyond = t * excess - math.log(1 / t**2) / t + 1 / t
    return torch.where(excess <= edge, inside, beyond)


class SizeBarrier(SizeLimitsTerm):
    """Log-barrier on bounds, the mean over images of Σ_k ψ(p̂_k − upper_k) + ψ(lower_k − p̂_k).

    ψ(x) = −log(−x)/t for x <= −1/t², its tangent beyond: finite everywhere, so a start outside the bounds is fine. It
    is not zero inside. Arguments as for :class:`SizeBounds`, and

    Args:
        t: steepness > 0; raise it during training to come closer to hard bounds.

    >>> import torch, sizewise as sw
    >>> target = torch.zeros(1, 1, 4, dtype=torch.long)
    >>> round(float(sw.SizeBarrier(0.0, 1.0, t=5)(torch.zeros(1, 2, 1, 4), target)), 4)  # 4 · −log(0.5) / 5
    0.5545
    """

    def __init__(
        self,
        lower: Any = 0.0,
        upper: Any = 1.0,
        *,
        t: float = 5.0,
        temperature: float = 10.0,
        pixels: str = "valid",
        scope: str = "image",
        classes: Classes = "all",
        class_weight: Any = None,
        absent: str = "include",
        class_reduction: str = "sum",
    ) -> None:
        super().__init__(
            lower,
            upper,
            temperature=temperature,
            pixels=pixels,
            scope=scope,
            classes=classes,
            class_weight=class_weight,
            absent=absent,
            class_reduction=class_reduction,
        )
        self.t = check_number(self.label, "t", t, minimum=0, exclusive=True)

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        predicted = self.predicted(stats)
        lower, upper = self.limits(images)
        return log_barrier(predicted - upper, t=self.t) + log_barrier(lower - predicted, t=self.t)

    def options(self) -> dict[str, Any]:
        return {"t": self.t} | super().options()
