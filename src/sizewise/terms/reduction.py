"""From a value per image and class to one number: classes within an image first, then images."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_class_ids, check_values, check_word
from sizewise.module import Module

ABSENT = ("include", "skip")
CLASS_REDUCTIONS = ("sum", "mean")
Classes = str | Sequence[int]


class ClassChoice(Module):
    """Which classes a term looks at, and with which weights.

    Args:
        where: the term's name, for messages.
        classes: ``"all"``, ``"foreground"`` (all but class 0; with sigmoid, every channel), or a list of ids.
        class_weight: (K,) for softmax; (2,) or (C, 2) for sigmoid, where a term that sees the foreground alone weighs
            the channels by their foreground's.
    """

    class_weight: Tensor | None

    def __init__(self, where: str, classes: Classes, class_weight: Any) -> None:
        super().__init__()
        self.where = where
        self.classes = check_classes(where, classes)
        weight = None if class_weight is None else check_values(where, "class_weight", class_weight)
        if weight is not None and weight.dim() not in (1, 2):
            raise ValueError(f"{where}: class_weight must have shape (K,), (2,) or (C, 2), got {tuple(weight.shape)}.")
        self.register_buffer("class_weight", weight)

    def select(self, values: Tensor, sigmoid: bool, foreground_alone: bool = False) -> Tensor:
        """Keep the chosen regions of (..., K), or the chosen channels of (..., C, 2)."""
        if sigmoid:
            if not isinstance(self.classes, str):
                values = pick(self.where, values, -2, self.classes)
            return values[..., 1:] if foreground_alone else values
        if self.classes == "foreground":
            return values[..., 1:]
        return values if isinstance(self.classes, str) else pick(self.where, values, -1, self.classes)

    def select_channels(self, values: Tensor, sigmoid: bool) -> Tensor:
        """Keep the chosen channels of (N, C); softmax has one value per image, (N,), whatever the classes."""
        return pick(self.where, values, -1, self.classes) if sigmoid and not isinstance(self.classes, str) else values

    def weight_like(self, values: Tensor, sigmoid: bool) -> Tensor | None:
        """The class weights in the dtype and on the device of ``values``, which is (N, K) or (N, C, 2)."""
        if self.class_weight is None:
            return None
        wanted = tuple(values.shape[1:])
        allowed = ((2,), wanted) if sigmoid else (wanted,)
        if tuple(self.class_weight.shape) not in allowed:
            shapes = " or ".join(str(shape) for shape in allowed)
            raise ValueError(
                f"{self.where}: class_weight must have shape {shapes}, one weight per class, got "
                f"{tuple(self.class_weight.shape)}."
            )
        return self.class_weight.to(values).expand(wanted)


def check_classes(where: str, classes: Any) -> Classes:
    """``"all"``, ``"foreground"``, or a tuple of distinct class ids."""
    if isinstance(classes, str):
        return check_word(where, "classes", classes, ("all", "foreground"))
    return check_class_ids(where, classes)


def pick(where: str, values: Tensor, axis: int, ids: Sequence[int]) -> Tensor:
    """``values`` at ``ids`` along ``axis``, without an index tensor that would have to travel to the device."""
    if max(ids) >= values.shape[axis]:
        raise ValueError(f"{where}: classes has the id {max(ids)}, but there are {values.shape[axis]} classes.")
    return torch.stack([values.select(axis, one) for one in ids], axis)


def reduce_classes(
    values: Tensor, weight: Tensor | None, used: Tensor | None, class_reduction: str
) -> tuple[Tensor, Tensor | None]:
    """Σ_k w_k x_k, or that over Σ_k w_k, on the last axis; and which images had any class left (``None``: all).

    Args:
        values: (N, K), or (N, C, 2).
        weight: class weights of the same shape, or None for ones.
        used: bool of the same shape, or None for all.
        class_reduction: ``"sum"`` or ``"mean"``.
    """
    if weight is None and used is None:
        return (values.sum(-1) if class_reduction == "sum" else values.mean(-1)), None
    weights = torch.ones_like(values) if weight is None else weight.expand_as(values)
    if used is not None:
        weights = weights.where(used, 0)
        values = values.where(used, 0)
    total = (weights * values).sum(-1)
    if class_reduction == "mean":
        total = total / or_one(weights.sum(-1))
    return total, None if used is None else used.any(-1)


def mean_over_images(values: Tensor, counted: Tensor, channel_weight: Tensor | None = None) -> Tensor:
    """The mean of (N,) values over the images that count, 0 if none does; of (N, C), then the mean over channels.

    With (C,) weights the latter is Σ_c w_c x_c / Σ_c w_c.
    """
    mean = values.where(counted, 0).sum(0) / counted.sum(0).clamp(min=1)
    if channel_weight is not None:
        return (channel_weight * mean).sum() / or_one(channel_weight.sum())
    return mean.mean() if mean.dim() else mean


def or_one(divisor: Tensor) -> Tensor:
    """The divisor with 1 in place of 0, so that 0 / 0 is 0 in value and gradient."""
    return divisor.masked_fill(divisor == 0, 1)
