"""The Tversky index, which weighs false positives and false negatives apart."""

from typing import Any

from torch import Tensor

from sizewise.checks import check_number
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.overlap import OverlapTerm
from sizewise.terms.reduction import Classes


def tversky(stats: RegionStats, *, alpha: float, beta: float, smooth: float) -> Tensor:
    """1 − (I + ε) / (I + α (P − I) + β (T − I) + ε) of each region."""
    overlap = stats.overlap
    missed_or_false = alpha * (stats.size - overlap) + beta * (stats.count - overlap)
    return 1 - (overlap + smooth) / (overlap + missed_or_false + smooth)


class Tversky(OverlapTerm):
    """Tversky loss, the mean over classes, then images, of 1 − (I + ε) / (I + α (P − I) + β (T − I) + ε).

    Args:
        alpha: weight of false positives.
        beta: weight of false negatives; above ``alpha`` it favours finding small structures.
        smooth: ε > 0, in pixels.
        scope: ``"image"``, ``"batch"`` or ``"global"``.
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one weight per class.
        absent: ``"include"`` or ``"skip"`` classes without a pixel in the scope.
        class_reduction: ``"mean"`` or ``"sum"``.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 1, 1]]])
    >>> round(float(sw.Tversky()(torch.zeros(1, 2, 1, 4), target)), 4)  # 1 − (1 + 1) / (1 + 0.5 + 0.5 + 1)
    0.3333
    """

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        beta: float = 0.5,
        smooth: float = 1.0,
        scope: str = "image",
        classes: Classes = "all",
        class_weight: Any = None,
        absent: str = "include",
        class_reduction: str = "mean",
    ) -> None:
        super().__init__(
            smooth=smooth,
            scope=scope,
            classes=classes,
            class_weight=class_weight,
            absent=absent,
            class_reduction=class_reduction,
        )
        self.alpha = check_number(self.label, "alpha", alpha, minimum=0)
        self.beta = check_number(self.label, "beta", beta, minimum=0)

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return tversky(stats, alpha=self.alpha, beta=self.beta, smooth=self.smooth)

    def options(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "beta": self.beta} | super().options()
