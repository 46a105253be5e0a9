"""The size bias that is hidden in log-Dice, as a term of its own."""

from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_number, check_smooth
from sizewise.stats.fields import PIXELS, Field, tempered_size
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import Classes, or_one
from sizewise.terms.term import RegionTerm


def dice_bias(size: Tensor, count: Tensor, pixels: Tensor, *, smooth: float) -> Tensor:
    """log((P + T + ε) / |Ω|) of each region; ``pixels`` is |Ω|, for all classes or for each."""
    return torch.log((size + (count + smooth)) / or_one(pixels))


class DiceBias(RegionTerm):
    """Dice's region-size bias, the mean over classes, then images, of log((P_k + T_k + ε) / |Ω|), P tempered.

    It is concave: it pulls towards one region that takes everything. The paper uses it with a small weight.

    Args:
        temperature: τ > 0, a factor on the logits in P.
        smooth: ε > 0, in pixels.
        scope: ``"image"``, ``"batch"`` or ``"global"``.
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one weight per class.
        absent: ``"include"`` or ``"skip"`` classes without a pixel in the scope.
        class_reduction: ``"mean"`` as in the paper's released code, which its λ belong to, or ``"sum"`` as in its
            equation.

    A sigmoid channel's value is that of its foreground.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 1, 1]]])
    >>> round(float(sw.DiceBias()(torch.zeros(1, 2, 1, 4), target)), 4)  # log((2 + 2 + 1) / 4)
    0.2231
    """

    foreground_alone = True

    def __init__(
        self,
        *,
        temperature: float = 10.0,
        smooth: float = 1.0,
        scope: str = "image",
        classes: Classes = "all",
        class_weight: Any = None,
        absent: str = "include",
        class_reduction: str = "mean",
    ) -> None:
        super().__init__(
            scope=scope,
            classes=classes,
            class_weight=class_weight,
            absent=absent,
            class_reduction=class_reduction,
        )
        self.temperature = check_number(self.label, "temperature", temperature, minimum=0, exclusive=True)
        self.smooth = check_smooth(self.label, smooth)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (tempered_size(self.temperature),)

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return dice_bias(stats.tempered_size_at(self.temperature), stats.count, stats.field(PIXELS), smooth=self.smooth)

    def options(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "smooth": self.smooth} | super().options()
