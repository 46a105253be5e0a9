"""Pixels of each region of each image, counted where the tensors are, and the scores that follow from them."""

import torch
from torch import Tensor

from sizewise.metrics.overlap import Counts
from sizewise.metrics.registry import METRICS


def count_labels(predicted: Tensor, target: Tensor, *, classes: int, ignore_index: int | None = None) -> Tensor:
    """Intersection, predicted, target and valid pixels of label maps (N, *S), as (N, K, 4) integers.

    >>> count_labels(torch.tensor([[0, 1, 1, 1]]), torch.tensor([[0, 0, 1, 9]]), classes=2, ignore_index=9).tolist()
    [[[1, 1, 2, 3], [1, 2, 1, 3]]]
    """
    images = len(predicted)
    predicted, target = predicted.reshape(images, -1).long(), target.reshape(images, -1).long()
    valid = torch.ones_like(target, dtype=torch.bool) if ignore_index is None else target != ignore_index
    strange = valid & ((target < 0) | (target >= classes) | (predicted < 0) | (predicted >= classes))
    if bool(strange.any()):
        raise ValueError(
            f"labels must lie in [0, {classes}), got a prediction of {int(predicted[strange][0])} for the target "
            f"{int(target[strange][0])}. Pixels without a label are given as ignore_index."
        )
    image = torch.arange(images, device=target.device).unsqueeze(1) * classes * classes
    pairs = (image + target * classes + predicted)[valid]
    table = torch.bincount(pairs, minlength=images * classes * classes).view(images, classes, classes)
    whole = table.sum((1, 2)).unsqueeze(1).expand(images, classes)
    return torch.stack((table.diagonal(dim1=1, dim2=2), table.sum(1), table.sum(2), whole), -1)


def count_channels(predicted: Tensor, target: Tensor, *, ignore_index: int | None = None) -> Tensor:
    """The same for channels (N, C, *S) of 0 and 1 whose regions may overlap; ``ignore_index`` holds per channel.

    >>> count_channels(torch.tensor([[[1, 1, 0]]]), torch.tensor([[[1, 0, 0]]])).tolist()
    [[[1, 2, 1, 3]]]
    """
    predicted, target = predicted.flatten(2), target.flatten(2)
    valid = torch.ones_like(target, dtype=torch.bool) if ignore_index is None else target != ignore_index
    here, there = (predicted != 0) & valid, (target != 0) & valid
    return torch.stack([region.sum(2) for region in (here & there, here, there, valid)], -1)


def count_metrics() -> tuple[str, ...]:
    """The names of the scores that counts are enough for.

    >>> count_metrics()
    ('dsc', 'iou', 'size_error', 'relative_size_error')
    """
    return tuple(name for name, metric in METRICS.items() if metric.of_counts is not None and metric.better)


def values_of(metric: str, counts: Tensor) -> Tensor:
    """The metric for each row of (..., 4) counts, in float64; NaN stands for "no value" (see ``metrics.policy``).

    >>> values_of("dsc", torch.tensor([[2, 3, 5, 100], [0, 0, 0, 100]])).tolist()
    [0.5, nan]
    """
    formula = METRICS[metric].of_counts
    assert formula is not None, f"{metric} needs more than counts"
    found = [formula(Counts(*row)) if row[3] else None for row in counts.reshape(-1, 4).tolist()]
    values = [float("nan") if value is None else value for value in found]
    return torch.tensor(values, dtype=torch.float64).view(counts.shape[:-1])
