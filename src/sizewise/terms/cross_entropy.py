"""Cross-entropy: the mean over pixels, and the paper's balanced form."""

from typing import Any

from torch import Tensor

from sizewise.stats.fields import NLL, Field
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import Classes, or_one
from sizewise.terms.term import PixelTerm, RegionTerm


class CrossEntropy(PixelTerm):
    r"""Pixel-mean cross-entropy, Σ_k w_k nll_k / Σ_k w_k T_k over the batch.

    Equal to ``torch.nn.functional.cross_entropy`` with its weights and ``ignore_index``, except that a batch without
    any valid pixel gives 0, and that probability targets divide by Σ w_k T_k as well, so one-hot equals labels.
    With sigmoid it is the mean of ``binary_cross_entropy_with_logits``.

    Args:
        scope: ``"batch"``, ``"image"`` (a mean per image first) or ``"global"`` (over all ranks).
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one weight per class.

    >>> import torch, sizewise as sw
    >>> logits, target = torch.randn(2, 3, 8, 8), torch.randint(0, 3, (2, 8, 8))
    >>> torch.allclose(sw.CrossEntropy()(logits, target), torch.nn.functional.cross_entropy(logits, target))
    True
    """

    def __init__(self, *, scope: str = "batch", classes: Classes = "all", class_weight: Any = None) -> None:
        super().__init__(scope=scope, classes=classes, class_weight=class_weight)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (NLL,)

    def per_region(self, stats: RegionStats) -> Tensor:
        return stats.nll


def balanced_cross_entropy(stats: RegionStats) -> Tensor:
    """nll_k / T_k of each region, 0 where the region is absent."""
    return stats.nll / or_one(stats.count)


class BalancedCrossEntropy(RegionTerm):
    r"""The paper's weighted cross-entropy, Σ_{k present} nll_k / T_k per image: every region counts the same.

    Args:
        scope: ``"image"``, ``"batch"`` or ``"global"``.
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one weight per class.
        class_reduction: ``"sum"`` as in the paper, or ``"mean"`` over the present classes.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[[0, 0, 0, 1]]])
    >>> round(float(sw.BalancedCrossEntropy()(torch.zeros(1, 2, 1, 4), target)), 4)  # log 2 for each region
    1.3863
    """

    def __init__(
        self,
        *,
        scope: str = "image",
        classes: Classes = "all",
        class_weight: Any = None,
        class_reduction: str = "sum",
    ) -> None:
        super().__init__(
            scope=scope, classes=classes, class_weight=class_weight, absent="skip", class_reduction=class_reduction
        )

    @property
    def fields(self) -> tuple[Field, ...]:
        return (NLL,)

    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        return balanced_cross_entropy(stats)

    def options(self) -> dict[str, Any]:
        return {name: value for name, value in super().options().items() if name != "absent"}
