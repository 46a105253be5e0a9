"""What is known of a tensor while the kernel is written: the variable that holds it, and which axis each dim is.

In the kernel every tensor is a block with four axes: k (classes or channels), r (a sigmoid channel's background and
foreground), n (images) and m (the cells of an image), in this order, so that threads lie along cells and each holds all
classes of its own. Along an axis that a tensor does not have, its block has the length one, and Triton broadcasts. The
rows of the sums of cells, which come image by image, are one dim with two axes, "nm". A dim that torch made by
repeating, as ``expand`` does, has no axis: it takes that of whatever it meets.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

AXES = "krnm"
Chosen = tuple[int, ...] | slice | None


class Unsupported(Exception):
    """A formula that is left to torch, and why."""


class Dim(NamedTuple):
    """One dim of a tensor.

    Attributes:
        size: its size as source text: a number, or "N", "M", "K" and what is computed from them.
        axis: "n", "m", "k", "r", "nm", or "" for a dim along which the tensor is constant.
        chosen: the places along the axis that it stands for: all (None), all from one on (a slice), or some in order.
    """

    size: str
    axis: str = ""
    chosen: Chosen = None

    @property
    def inside(self) -> str:
        """Where along its axis the dim has values, as source text."""
        if self.chosen is None:
            return "(" + " & ".join(f"in_{one}" for one in self.axis) + ")"
        if isinstance(self.chosen, slice):
            return f"(in_{self.axis} & ({self.axis} >= {self.chosen.start}))"
        return "(" + " | ".join(f"({self.axis} == {place})" for place in self.chosen) + ")"


ONE = Dim("1")


@dataclass(frozen=True)
class Value:
    """One tensor.

    Attributes:
        code: the variable, or the number itself where the tensor is a constant.
        dims: of the tensor.
        kind: "float", "int" or "bool".
        planes: one value per field, where the first dim is that of the fields; the other attributes then mean nothing.
        piece: where it is one slice of another value along an axis: that value, the axis and the place. It has no
            ``code`` until the slice is needed by itself.
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


def merged(dims: list[Dim]) -> Dim:
    """The dim of an elementwise result, from those of its operands at the same place."""
    chosen = ONE
    for dim in dims:
        if dim.axis and chosen.axis and (dim.axis, dim.chosen) != (chosen.axis, chosen.chosen):
            raise Unsupported(f"different places of {chosen.axis} and {dim.axis} meet")
        if dim.axis or (not chosen.axis and chosen.size == "1"):
            chosen = dim
    return chosen
