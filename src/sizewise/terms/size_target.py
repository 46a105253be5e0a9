"""Size terms that aim at proportions: the true ones, or a prior."""

from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_values, check_word
from sizewise.stats.fields import PIXELS
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import Classes
from sizewise.terms.size import SizeTerm, both_regions


class SizeTargetTerm(SizeTerm):
    """A distance between the predicted proportions p̂ and the target proportions t of each region."""

    prior: Tensor | None

    def __init__(
        self,
        *,
        target: Any = "ground_truth",
        temperature: float = 10.0,
        pixels: str = "valid",
        scope: str = "image",
        classes: Classes = "all",
        class_weight: Any = None,
        absent: str = "include",
        class_reduction: str = "mean",
    ) -> None:
        super().__init__(
            temperature=temperature,
            pixels=pixels,
            scope=scope,
            classes=classes,
            class_weight=class_weight,
            absent=absent,
            class_reduction=class_reduction,
        )
        prior = None
        if isinstance(target, str):
            check_word(self.label, "target", target, ("ground_truth",))
            if self.pixels == "all":
                raise ValueError(
                    f'{self.label}: pixels="all" counts pixels that have no label, so it needs target= as a tensor of '
                    "proportions; the ground truth is known on valid pixels only."
                )
        else:
            prior = check_values(self.label, "target", target, maximum=1)
            if prior.dim() not in (1, 2):
                raise ValueError(
                    f"{self.label}: target must have shape (K,) or (N, K) (sigmoid: (C,) or (N, C)), got "
                    f"{tuple(prior.shape)}."
                )
        self.register_buffer("prior", prior)
        # Known only with the activation: shares of sigmoid channels need not sum to one.
        self.prior_sums = (1.0, 1.0) if prior is None else _sums(prior)

    def aimed_at(self, stats: RegionStats, images: RegionStats) -> Tensor:
        """t, (N, K) or (N, C, 2)."""
        if self.prior is None:
            truth = stats if stats.size_truth is None else stats.size_truth
            return truth.count / truth.divisor(PIXELS)
        if images.sigmoid:
            foreground = self.shares("target", self.prior, images)
            return both_regions(1 - foreground, foreground)
        if max(abs(total - 1) for total in self.prior_sums) > 1e-3:
            raise ValueError(
                f"{self.label}: target proportions must sum to 1 over the classes, got sums from "
                f"{self.prior_sums[0]:g} to {self.prior_sums[1]:g}."
            )
        return self.shares("target", self.prior, images)

    def options(self) -> dict[str, Any]:
        return {"target": "ground_truth" if self.prior is None else self.prior} | super().options()


def _sums(prior: Tensor) -> tuple[float, float]:
    if prior.numel() == 0:
        return (1.0, 1.0)
    lowest, highest = torch.aminmax(prior.sum(-1))
    return float(lowest), float(highest)
