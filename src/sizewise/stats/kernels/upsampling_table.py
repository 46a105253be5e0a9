"""Where pixels lie between cells, as numbers that kernels read."""

from functools import lru_cache

import torch
from torch import Tensor

from sizewise.stats.kernels.kept_tensors import kept_tensor
from sizewise.stats.upsampling import CORNERS, Axis, axis_of


def axes_of(logits: Tensor, target: Tensor, upsample: str) -> list[Axis]:
    """The axes, innermost first."""
    pairs = zip(logits.shape[2:], target.shape[2:], strict=True)
    return [axis_of(cells, pixels, upsample == CORNERS) for cells, pixels in pairs][::-1]


def table_of(logits: Tensor, target: Tensor, upsample: str) -> Tensor:
    """First and rest of every axis, innermost first, then their starts; see :mod:`interpolation`."""
    sizes = tuple((axis.cells, axis.pixels) for axis in axes_of(logits, target, upsample))
    return _table(sizes, upsample == CORNERS, logits.device)


@lru_cache(maxsize=64)
def _table(sizes: tuple[tuple[int, int], ...], corners: bool, device: torch.device) -> Tensor:
    axes = [axis_of(cells, pixels, corners) for cells, pixels in sizes]
    missing = [axis_of(1, 1, corners)] * (3 - len(axes))
    axes = [*axes, *missing]
    rows = [one for axis in axes for one in (axis.first, axis.rest)] + [torch.tensor(axis.starts) for axis in axes]
    return kept_tensor(device, lambda: torch.cat(rows).to(torch.int32).to(device))
