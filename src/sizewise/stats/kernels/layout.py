"""Bringing the spatial axes of several tensors into at most three, without a copy wherever their strides allow."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from torch import Tensor

MAX_AXES = 3


class Layout(NamedTuple):
    """The spatial axes that are left, slowest first, and each tensor's strides along them."""

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]


def collapse(spatial: Sequence[int], strides: Sequence[Sequence[int]]) -> Layout:
    """Join neighbouring axes that lie in one line in every tensor; axes of length one vanish.

    The pixels may come in any order, as long as it is the same for all tensors, so axes are first sorted by the
    strides of the first one.

    >>> collapse((4, 8), [(8, 1), (16, 2)])
    Layout(sizes=(32,), strides=((1,), (2,)))
    """
    axes = [axis for axis, size in enumerate(spatial) if size != 1]
    axes.sort(key=lambda axis: -strides[0][axis])
    sizes: list[int] = []
    lines: list[list[int]] = [[] for _ in strides]
    for axis in axes:
        size = spatial[axis]
        here = [one[axis] for one in strides]
        if sizes and all(line[-1] == stride * size for line, stride in zip(lines, here, strict=True)):
            sizes[-1] *= size
            for line, stride in zip(lines, here, strict=True):
                line[-1] = stride
        else:
            sizes.append(size)
            for line, stride in zip(lines, here, strict=True):
                line.append(stride)
    if not sizes:
        sizes, lines = [1], [[1] for _ in strides]
    return Layout(tuple(sizes), tuple(tuple(line) for line in lines))


def joint_layout(tensors: Sequence[Tensor]) -> Layout | None:
    """The joint layout of (N, C, *S) tensors, or None where more axes are left than the kernels walk over."""
    layout = collapse(tensors[0].shape[2:], [tensor.stride()[2:] for tensor in tensors])
    return layout if len(layout.sizes) <= MAX_AXES else None


def plain_layout(spatial: Sequence[int], tensors: Sequence[Tensor]) -> Layout:
    """The axes as they are: tensors of several sizes have nothing to join."""
    return Layout(tuple(spatial), tuple(tuple(tensor.stride()[2:]) for tensor in tensors))


def memory_of(logits: Tensor, layout: Layout) -> str:
    """How the classes lie: "pixels" are neighbours, or the "classes" of a pixel are, or all of them form "runs"."""
    classes = logits.shape[1]
    if classes == 1 or logits.stride(1) != 1:
        return "pixels"
    return "runs" if in_one_line(layout.sizes, layout.strides[0], classes) else "classes"


def in_one_line(sizes: Sequence[int], strides: Sequence[int], step: int) -> bool:
    """Whether pixel follows pixel at a distance of ``step``."""
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def word_bytes(tensors: Sequence[Tensor], layout: Layout, memory: str) -> int:
    """How many bytes of neighbouring values can be read at once from each of these tensors, which are laid out alike.

    8, 4, or 0 for no more than one value: every row has to start at a multiple of it, and to end at one.
    """
    runs, itemsize = memory == "runs", tensors[0].dtype.itemsize
    fits = [
        in_one_line(layout.sizes, strides, tensors[0].shape[1]) if runs else strides[-1] == 1
        for strides in layout.strides
    ]
    if memory == "classes" or not all(fits):
        return 0
    starts = [prod(layout.sizes) if runs else layout.sizes[-1]]
    for tensor, strides in zip(tensors, layout.strides, strict=True):
        jumps = tensor.stride()[:1] if runs else (*tensor.stride()[:2], *strides[:-1])
        sizes = tensor.shape[:1] if runs else (*tensor.shape[:2], *layout.sizes[:-1])
        starts += [jump for size, jump in zip(sizes, jumps, strict=True) if size > 1]
    for word in (8, 4):
        aligned = all(tensor.data_ptr() % word == 0 for tensor in tensors)
        if word > itemsize and aligned and all(start * itemsize % word == 0 for start in starts):
            return word
    return 0


def padded(values: tuple[int, ...]) -> tuple[int, ...]:
    """Three entries, the missing outer ones as 0."""
    return (0,) * (MAX_AXES - len(values)) + values


def reach(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """The largest offset of a pixel, also a bound on the number of pixels that are counted."""
    return max(prod(sizes), sum((size - 1) * abs(stride) for size, stride in zip(sizes, strides, strict=True)))
