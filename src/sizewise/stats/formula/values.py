"""What is known of a tensor while the kernel is written: the variable that holds it, and which axis each dim is.

In the kernel every tensor is a block with three axes: n (images), k (classes or channels) and r (a sigmoid channel's
background and foreground). Along an axis that a tensor does not have, or along which it is constant, its block has
the length one, and Triton broadcasts.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

UNKNOWN = "unknown"
Ids = tuple[int, ...] | str | None


class Unsupported(Exception):
    """A formula that is left to torch, and why."""


class Dim(NamedTuple):
    """One dim of a tensor.

    Attributes:
        size: as torch has it.
        axis: "n", "k", "r", or "" for a dim of size 1.
        ids: the places along the axis that the dim stands for; None for all, in order. ``UNKNOWN`` belongs to tensors
            that are the same all along, as those that ``expand`` makes.
    """

    size: int
    axis: str = ""
    ids: Ids = None


@dataclass(frozen=True)
class Value:
    """One tensor.

    Attributes:
        code: the variable.
        dims: of the tensor.
        kind: "float", "int" or "bool".
        planes: one value per field, where the first dim is that of the fields; the other attributes then mean nothing.
        piece: where it is one slice of another value along an axis: that value and the place; ``code`` is then empty.
        constant: its number, where it is one.
    """

    code: str
    dims: tuple[Dim, ...]
    kind: str
    planes: tuple["Value", ...] | None = None
    piece: tuple["Value", str, int] | None = None
    constant: float | None = None

    def with_dims(self, dims: tuple[Dim, ...]) -> "Value":
        """The same block under other dims."""
        return replace(self, dims=dims)


def kind_of(dtype: torch.dtype) -> str:
    """All floats are float64 in the kernel, all integers int64."""
    return "bool" if dtype == torch.bool else "float" if dtype.is_floating_point else "int"


def merged(dims: list[Dim], size: int) -> Dim:
    """The dim of an elementwise result, from those of its operands at the same place."""
    chosen = Dim(size)
    for dim in dims:
        if not dim.axis:
            continue
        if dim.size != size:
            raise Unsupported(f"one place of {dim.axis} meets several")
        if chosen.axis and chosen.axis != dim.axis:
            raise Unsupported(f"axes {chosen.axis} and {dim.axis} meet")
        if chosen.axis and UNKNOWN not in (chosen.ids, dim.ids) and chosen.ids != dim.ids:
            raise Unsupported(f"different choices along {dim.axis} meet")
        if not chosen.axis or chosen.ids == UNKNOWN:
            chosen = Dim(size, dim.axis, dim.ids)
    return chosen


def where_it_lies(tensor: Tensor) -> tuple:
    """What two names of one tensor have in common, as long as it is alive and nobody writes to it."""
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype
