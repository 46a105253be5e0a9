"""Our scores as a torchmetrics class: sums per class, whatever the batch size and the number of processes."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from sizewise.checks import check_word
from sizewise.integrations.component_metrics import check_thirds, component_metrics, count_components
from sizewise.metrics.device_counts import count_channels, count_labels, count_metrics, values_of
from sizewise.models.torchvision_ops import import_with_torchvision
from sizewise.stats.inputs import ACTIVATIONS

if TYPE_CHECKING:
    from torchmetrics import Metric
else:
    Metric = import_with_torchvision(
        "torchmetrics", extra="torchmetrics", reason="sizewise.integrations.torchmetrics"
    ).Metric


class RegionMetric(Metric):
    """One of our scores, per class: the mean over images, or of the data set read as one image.

    The empty-mask policy is ours (``sizewise.metrics.policy``): a missed region and a false alarm score worst; where
    both regions are empty there is no value, which enters no mean. A class without any value is NaN.

    Args:
        metric: a score of ``sizewise.metrics.registry`` that counts of pixels are enough for: ``"dsc"``, ``"iou"``,
            ``"size_error"`` (predicted minus true proportion, signed), …; or one of components, which are found on the
            CPU: ``"component_recall"``, ``"component_precision"``, ``"component_recall_small"``, …
        num_classes: K with the background, or C channels of a sigmoid.
        over: ``"images"`` for the mean of the images' scores, ``"dataset"`` for the score of the pooled counts.
        include_background: whether class 0 is in the result; channels of a sigmoid have no background.
        activation: ``"softmax"``, or ``"sigmoid"`` for regions that may overlap.
        ignore_index: the label of pixels without a label.
        component_thirds_px: for components by size: the largest size of a small and of a medium one, as
            ``sizewise.metrics.component_matches.size_thirds`` finds them in a data set.

    ``update(preds, target)`` takes logits or probabilities (N, K, *S) of a softmax, or a label map (N, *S); for sigmoid
    logits (N, C, *S), or integers and bools that are decided already. ``compute()`` gives one
    value per class, and a scalar where there is one class.

    >>> metric = RegionMetric("size_error", num_classes=2)
    >>> metric.update(torch.tensor([[0, 1, 1, 1]]), torch.tensor([[0, 0, 1, 1]]))
    >>> metric.compute()  # (3 - 2) / 4
    tensor(0.2500)
    """

    is_differentiable = False
    full_state_update = False
    counts: Tensor
    total: Tensor
    images: Tensor

    def __init__(
        self,
        metric: str,
        *,
        num_classes: int,
        over: str = "images",
        include_background: bool = False,
        activation: str = "softmax",
        ignore_index: int | None = None,
        component_thirds_px: tuple[float, float] | None = None,
    ) -> None:
        super().__init__()
        self.metric = check_word("RegionMetric", "metric", metric, (*count_metrics(), *component_metrics()))
        self.component_thirds_px = check_thirds(metric, component_thirds_px)
        self.of_components = metric in component_metrics()
        self.over = check_word("RegionMetric", "over", over, ("images", "dataset"))
        self.activation = check_word("RegionMetric", "activation", activation, ACTIVATIONS)
        self.num_classes = num_classes
        self.first = 0 if include_background or activation == "sigmoid" else 1
        self.ignore_index = ignore_index
        classes = num_classes - self.first
        self.add_state("counts", torch.zeros(classes, 4, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("total", torch.zeros(classes, dtype=torch.float32), dist_reduce_fx="sum")
        self.add_state("images", torch.zeros(classes, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch."""
        counts = self._count(preds.detach(), target)[:, self.first :]
        if self.over == "dataset":
            self.counts += counts.sum(0)
            return
        values = self._values(counts).to(self.total.device)
        self.total += values.nansum(0).to(self.total.dtype)
        self.images += (~values.isnan()).sum(0)

    def compute(self) -> Tensor:
        """One value per class, NaN where there is none."""
        if self.over == "dataset":
            return self._values(self.counts).to(self.total)
        return self.total / self.images  # 0 / 0 is NaN

    def _values(self, counts: Tensor) -> Tensor:
        """The score of each row of counts; NaN where there is none."""
        return counts[..., 0].double() / counts[..., 1] if self.of_components else values_of(self.metric, counts)

    def _count_channels(self, preds: Tensor, target: Tensor) -> Tensor:
        if self.of_components:
            return self._count_components(preds != 0, target == 1, self._valid(target))
        return count_channels(preds, target, ignore_index=self.ignore_index)

    def _count_components(self, preds: Tensor, target: Tensor, valid: Tensor) -> Tensor:
        """In the first two of the four columns that counts of pixels have."""
        found = count_components(self.metric, preds, target, valid, self.component_thirds_px)
        return torch.cat((found, torch.zeros_like(found)), -1)

    def _valid(self, target: Tensor) -> Tensor:
        return torch.ones_like(target, dtype=torch.bool) if self.ignore_index is None else target != self.ignore_index

    def _count(self, preds: Tensor, target: Tensor) -> Tensor:
        if self.activation == "sigmoid":
            if target.dim() == preds.dim() - 1 and self.num_classes == 1:
                target = target.unsqueeze(1)
            self._check(preds, target, (len(preds), self.num_classes))
            return self._count_channels(preds > 0 if preds.is_floating_point() else preds, target)
        if target.dim() > 2 and target.shape[1] == 1 and target.dim() == preds.dim() and preds.is_floating_point():
            target = target.squeeze(1)
        if preds.is_floating_point():
            if preds.dim() != target.dim() + 1 or preds.shape[1] != self.num_classes:
                raise ValueError(
                    f"RegionMetric: preds must be logits (N, {self.num_classes}, *S) or integer labels (N, *S), got "
                    f"{tuple(preds.shape)} for target {tuple(target.shape)}."
                )
            preds = preds.argmax(1)
        self._check(preds, target, (len(preds),))
        if not self.of_components:
            return count_labels(preds, target, classes=self.num_classes, ignore_index=self.ignore_index)
        classes = torch.arange(self.num_classes, device=target.device).view(1, -1, *[1] * (target.dim() - 1))
        masks = preds.unsqueeze(1) == classes, target.unsqueeze(1) == classes
        return self._count_components(*masks, self._valid(target).unsqueeze(1).expand_as(masks[1]))

    def _check(self, preds: Tensor, target: Tensor, start: tuple[int, ...]) -> None:
        if preds.shape != target.shape or tuple(preds.shape[: len(start)]) != start:
            raise ValueError(
                f"RegionMetric: preds and target must have one shape, got {tuple(preds.shape)} and "
                f"{tuple(target.shape)} for num_classes={self.num_classes}."
            )
