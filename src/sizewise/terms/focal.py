"""Focal loss in its softmax form."""

from typing import Any

from torch import Tensor

from sizewise.checks import check_number
from sizewise.stats.fields import Field, focal
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import Classes
from sizewise.terms.term import PixelTerm


class Focal(PixelTerm):
    r"""Pixel-mean focal loss, Σ −(1−p)^γ log p / Σ_k T_k, with p the softmax probability of the true class.

    Libraries that call one-vs-rest sigmoids "multi-class focal" compute something else, by a factor of up to K.

    Args:
        gamma: exponent γ >= 0; 0 is cross-entropy.
        scope: ``"batch"``, ``"image"`` or ``"global"``.
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one weight per class.

    >>> import torch, sizewise as sw
    >>> target = torch.zeros(1, 4, 4, dtype=torch.long)
    >>> round(float(sw.Focal(gamma=2)(torch.zeros(1, 2, 4, 4), target)), 4)  # (1/2)^2 log 2
    0.1733
    """

    def __init__(
        self, *, gamma: float = 2.0, scope: str = "batch", classes: Classes = "all", class_weight: Any = None
    ) -> None:
        super().__init__(scope=scope, classes=classes, class_weight=class_weight)
        self.gamma = check_number(self.label, "gamma", gamma, minimum=0)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (focal(self.gamma),)

    def per_region(self, stats: RegionStats) -> Tensor:
        return stats.focal_at(self.gamma)

    def options(self) -> dict[str, Any]:
        return {"gamma": self.gamma} | super().options()
