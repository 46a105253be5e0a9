"""Sampling a map of integers to another resolution."""

from collections.abc import Sequence

import torch
from torch import Tensor


def nearest(values: Tensor, spatial: Sequence[int]) -> Tensor:
    """``values`` (N, [C,] *S) sampled to ``spatial``, pixel ⌊(i + ½) · old / new⌋ for pixel i, in any dtype.

    >>> nearest(torch.arange(4).view(1, 4), (2,)).tolist()
    [[1, 3]]
    """
    if values.dim() <= len(spatial):
        return values  # the criterion names what is wrong with it
    for axis, new in enumerate(spatial, start=values.dim() - len(spatial)):
        old = values.shape[axis]
        if old != new:
            index = ((torch.arange(new, device=values.device) * 2 + 1) * old).div(2 * new, rounding_mode="floor")
            values = values.index_select(axis, index)
    return values
