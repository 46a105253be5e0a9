"""What the terms on region sizes have in common: tempered proportions, and where their targets come from."""

from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_number, check_word
from sizewise.stats.fields import KEPT_PIXELS, Field, kept_size, tempered_size
from sizewise.stats.fields import PIXELS as VALID_PIXELS
from sizewise.stats.ranks import sum_over_ranks
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import Classes, or_one
from sizewise.terms.term import RegionTerm

PIXELS = ("valid", "all")


class SizeTerm(RegionTerm):
    """A penalty on p̂_k = Σ_i softmax(τ z_i)_k / |Ω| for each region.

    Args:
        temperature: τ > 0, a factor on the logits; 10 makes proportions of confident decisions.
        pixels: ``"valid"`` takes p̂ over labelled pixels, ``"all"`` over every pixel that the mask keeps.
    """

    def __init__(
        self,
        *,
        temperature: float,
        pixels: str,
        scope: str,
        classes: Classes,
        class_weight: Any,
        absent: str,
        class_reduction: str,
    ) -> None:
        super().__init__(
            scope=scope,
            classes=classes,
            class_weight=class_weight,
            absent=absent,
            class_reduction=class_reduction,
        )
        self.temperature = check_number(self.label, "temperature", temperature, minimum=0, exclusive=True)
        self.pixels = check_word(self.label, "pixels", pixels, PIXELS)

    @property
    def fields(self) -> tuple[Field, ...]:
        if self.pixels == "all":
            return (KEPT_PIXELS, kept_size(self.temperature))
        return (tempered_size(self.temperature),)

    def predicted(self, stats: RegionStats) -> Tensor:
        """p̂, (N, K) or (N, C, 2)."""
        if self.pixels == "all":
            return stats.kept_size_at(self.temperature) / stats.divisor(KEPT_PIXELS)
        return stats.tempered_size_at(self.temperature) / stats.divisor(VALID_PIXELS)

    def image_pixels(self, stats: RegionStats) -> Tensor:
        return stats.kept_pixels if self.pixels == "all" else stats.pixels

    def present(self, stats: RegionStats) -> Tensor:
        return super().present(stats if stats.size_truth is None else stats.size_truth)

    def shares(self, argument: str, given: Tensor, images: RegionStats) -> Tensor:
        """A prior or bound as proportions of the scope's regions, (1 or N, K) or (1 or N, C).

        Given per image, it is pooled with the images' numbers of pixels as weights.
        """
        given = given.to(images.sums)
        count = images.sums.shape[2]
        if given.dim() == 0:
            given = given.expand(count)
        per_image = given.dim() == 2
        wanted = (images.sums.shape[1], count) if per_image else (count,)
        if tuple(given.shape) != wanted:
            what = "channel" if images.sigmoid else "class"
            raise ValueError(
                f"{self.label}: {argument} must have one entry per {what}, shape {(count,)}, or one row per image, "
                f"{(images.sums.shape[1], count)}, got {tuple(given.shape)}."
            )
        if not per_image:
            return given.unsqueeze(0)
        if self.scope == "image":
            return given
        pixels = self.image_pixels(images)
        pixels = pixels if images.sigmoid else pixels.unsqueeze(-1)
        total = (given * pixels).sum(0, keepdim=True)
        if self.scope == "global":
            total = sum_over_ranks(total)
        pooled = self.image_pixels(images.scoped(self.scope))
        return total / or_one(pooled if images.sigmoid else pooled.unsqueeze(-1))

    def options(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "pixels": self.pixels} | super().options()


def both_regions(background: Tensor, foreground: Tensor) -> Tensor:
    """Sigmoid channels' shares of (background, foreground), (..., C, 2)."""
    return torch.stack(torch.broadcast_tensors(background, foreground), -1)
