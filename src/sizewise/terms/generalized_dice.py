"""Generalized Dice: one ratio for all classes, each weighted by the inverse square of its true size."""

from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_smooth, check_word
from sizewise.stats.fields import OVERLAP, SIZE, Field
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import ABSENT, Classes, mean_over_images
from sizewise.terms.term import Term


def inverse_square_weights(count: Tensor) -> Tensor:
    """(T_min / T_k)² on the last axis, T_min the smallest present region; absent classes weigh 1."""
    present = count > 0
    smallest = count.where(present, torch.inf).amin(-1, keepdim=True)
    return torch.where(present, (smallest / count.where(present, 1)) ** 2, 1)


class GeneralizedDice(Term):
    """Generalized Dice, the mean over images of 1 − (2 Σ w_k I_k + ε) / (Σ w_k (P_k + T_k) + ε).

    w_k = (T_min / T_k)²: scaled so that the smallest region weighs 1, which leaves the ratio as it is and keeps ε in
    pixels of that region.

    Args:
        smooth: ε > 0, in pixels.
        scope: ``"image"``, ``"batch"`` or ``"global"``.
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one more factor per class.
        absent: ``"include"`` or ``"skip"`` classes without a pixel in the scope.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 1, 1]]])
    >>> round(float(sw.GeneralizedDice()(torch.zeros(1, 2, 1, 4), target)), 4)  # 1 − (2 · 2 + 1) / (8 + 1)
    0.4444
    """

    def __init__(
        self,
        *,
        smooth: float = 1.0,
        scope: str = "image",
        classes: Classes = "all",
        class_weight: Any = None,
        absent: str = "include",
    ) -> None:
        super().__init__(scope=scope, classes=classes, class_weight=class_weight)
        self.smooth = check_smooth(self.label, smooth)
        self.absent = check_word(self.label, "absent", absent, ABSENT)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (OVERLAP, SIZE)

    def value(self, stats: RegionStats) -> Tensor:
        stats = stats.scoped(self.scope)
        overlap, sizes, count = (
            self.choice.select(one, stats.sigmoid) for one in (stats.overlap, stats.size + stats.count, stats.count)
        )
        weight = inverse_square_weights(count)
        class_weight = self.choice.weight_like(stats.count, stats.sigmoid)
        if class_weight is not None:
            weight = weight * self.choice.select(class_weight, stats.sigmoid)
        pixels = stats.pixels.unsqueeze(-1)
        counted = (self.choice.select(pixels, True) if stats.sigmoid else pixels).squeeze(-1) > 0
        if self.absent == "skip":
            weight = weight.where(count > 0, 0)
            counted = counted & (count > 0).any(-1)
        ratio = (2 * (weight * overlap).sum(-1) + self.smooth) / ((weight * sizes).sum(-1) + self.smooth)
        return mean_over_images(1 - ratio, counted)

    def per_cell(self, stats: RegionStats) -> Tensor:
        overlap, sizes, count = stats.overlap, stats.size + stats.count, stats.count
        if not stats.sigmoid:  # a cell has one class
            return 1 - (2 * overlap + self.smooth) / (sizes + self.smooth)
        weight, own = inverse_square_weights(count), self.choice.weight_like(count, True)
        weight = weight if own is None else weight * own
        weight = weight.where(count > 0, 0) if self.absent == "skip" else weight
        return 1 - (2 * (weight * overlap).sum(-1) + self.smooth) / ((weight * sizes).sum(-1) + self.smooth)

    def options(self) -> dict[str, Any]:
        return {"smooth": self.smooth} | super().options() | {"absent": self.absent}
