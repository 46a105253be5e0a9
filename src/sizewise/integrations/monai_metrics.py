"""Our scores as a cumulative metric of MONAI, under our empty-mask policy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sizewise.checks import check_word
from sizewise.integrations.component_metrics import check_thirds
from sizewise.metrics.device_counts import count_channels, count_metrics, values_of
from sizewise.metrics.registry import score_names
from sizewise.models.torchvision_ops import import_with_torchvision

if TYPE_CHECKING:
    from monai.metrics import CumulativeIterationMetric
    from monai.metrics.utils import do_metric_reduction
else:
    _metrics = import_with_torchvision("monai.metrics", extra="monai", reason="sizewise.integrations.monai_metrics")
    CumulativeIterationMetric, do_metric_reduction = _metrics.CumulativeIterationMetric, _metrics.do_metric_reduction


class RegionMetric(CumulativeIterationMetric):
    """One of our scores for each image and channel, collected and reduced as MONAI's metrics are.

    It differs from MONAI's own in the empty-mask policy (``sizewise.metrics.policy``): a missed region and a false
    alarm score worst; where both regions are empty there is no value (NaN, which MONAI's reductions leave out).

    Args:
        metric: any score of ``sizewise.metrics.registry``: ``"dsc"``, ``"iou"``, ``"nsd"``, ``"hd95"``,
            ``"size_error"`` (predicted minus true proportion, signed), …
        include_background: whether channel 0 counts.
        reduction: one of MONAI's: ``"mean"``, ``"mean_batch"`` (one value per channel), ``"none"``, …
        get_not_nans: whether ``aggregate()`` also returns how many values entered.
        spacing_mm: between neighbours along each axis, for surfaces; 1 by default. A call may give its own ``spacing``.
        nsd_tolerance_mm: by which a surface may be off.
        component_thirds_px: for ``"component_recall_small"`` and the like: the largest size of a small and of a medium
            component, as ``sizewise.metrics.component_matches.size_thirds`` finds them in a data set.

    Call it with one channel per class, ``y_pred`` and ``y`` (N, C, *S) of 0 and 1, or lists of (C, *S), as MONAI's.

    >>> metric = RegionMetric("size_error")
    >>> one_hot = torch.eye(2)[torch.tensor([[0, 1, 1, 1]])].movedim(-1, 1)
    >>> truth = torch.eye(2)[torch.tensor([[0, 0, 1, 1]])].movedim(-1, 1)
    >>> metric(y_pred=one_hot, y=truth).tolist(), metric.aggregate().item()
    ([[0.25]], 0.25)
    """

    def __init__(
        self,
        metric: str,
        *,
        include_background: bool = False,
        reduction: str = "mean",
        get_not_nans: bool = False,
        spacing_mm: Sequence[float] | None = None,
        nsd_tolerance_mm: float = 1.0,
        component_thirds_px: tuple[float, float] | None = None,
    ) -> None:
        super().__init__()
        self.metric = check_word("RegionMetric", "metric", metric, score_names())
        self.component_thirds_px = check_thirds(metric, component_thirds_px)
        self.include_background = include_background
        self.reduction = reduction
        self.get_not_nans = get_not_nans
        self.spacing_mm = spacing_mm
        self.nsd_tolerance_mm = nsd_tolerance_mm

    def _compute_tensor(self, y_pred: Tensor, y: Tensor | None = None, **options: Any) -> Tensor:
        if y is None or y_pred.shape != y.shape or y_pred.dim() < 3:
            got = None if y is None else tuple(y.shape)
            raise ValueError(
                f"RegionMetric: y_pred and y must have one shape (N, C, *S), got {tuple(y_pred.shape)} and {got}. Make "
                "label maps one-hot: AsDiscrete(argmax=True, to_onehot=C) and AsDiscrete(to_onehot=C)."
            )
        y_pred, y = y_pred.as_subclass(Tensor), y.as_subclass(Tensor)
        if not bool(((y_pred == 0) | (y_pred == 1)).all() and ((y == 0) | (y == 1)).all()):
            raise ValueError(
                "RegionMetric: y_pred and y must hold 0 and 1 alone. Apply AsDiscrete to the network's scores."
            )
        first = 0 if self.include_background else 1
        y_pred, y = y_pred[:, first:], y[:, first:]
        if self.metric not in count_metrics():
            return self._from_masks(y_pred, y, options.get("spacing") or self.spacing_mm).to(y_pred.device)
        return values_of(self.metric, count_channels(y_pred, y)).float().to(y_pred.device)

    def _from_masks(self, y_pred: Tensor, y: Tensor, spacing: Sequence[float] | None) -> Tensor:
        from sizewise.metrics.case import score_channels

        rows = []
        for predicted, target in zip(y_pred.byte().cpu().numpy(), y.byte().cpu().numpy(), strict=True):
            scores = score_channels(
                predicted,
                target,
                spacing=(1.0,) * (y.dim() - 2) if spacing is None else tuple(spacing),
                nsd_tolerance=self.nsd_tolerance_mm,
                metrics=[self.metric],
            )
            found = [score.values(self.component_thirds_px)[self.metric] for score in scores]
            rows.append([float("nan") if value is None else value for value in found])
        return torch.tensor(rows, dtype=torch.float32)

    def aggregate(self, reduction: str | None = None) -> Any:
        """The reduced value; with ``get_not_nans`` also the number of values that entered."""
        data = self.get_buffer()
        if not isinstance(data, Tensor):
            raise ValueError("RegionMetric: there is nothing to aggregate yet. Call it on a batch first.")
        value, entered = do_metric_reduction(data, reduction or self.reduction)
        return (value, entered) if self.get_not_nans else value
