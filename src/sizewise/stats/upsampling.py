"""Logits that are smaller than the target: linear interpolation of one piece at a time, and its transpose.

A pixel of the full size lies between two cells of the small one, ``first`` and ``second``, and takes the share
``weight`` of the second. Both follow from whole numbers, so they are exact where ``torch.nn.functional.interpolate``
rounds them to float32. A weight of 0 means that the second cell is not touched, whatever stands there.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod

import torch
from torch import Tensor

from sizewise.stats.chunks import Place, Slices
from sizewise.stats.scratch import Scratch

LINEAR, CORNERS = "linear", "linear-corners"
UPSAMPLES = (LINEAR, CORNERS)
MOST_AXES = 3


def needed_upsample(logits: Tensor, target: Tensor, upsample: str | None) -> str | None:
    """``upsample``, or None where the logits have the target's size already."""
    return None if logits.shape[2:] == target.shape[2:] else upsample


class Axis:
    """Where the pixels of one axis lie between its cells.

    Of N ``pixels`` over n ``cells``, pixel i lies at ((2i + 1) n − N) / 2N, or with ``corners`` at i (n − 1) / (N − 1).

    Attributes:
        first: the cell before each pixel, int64.
        second: the cell after it; the same where the pixel lies on a cell, or beyond the last.
        rest: weight · divisor, the whole number behind the weight.
        divisor: the common divisor.
        starts: the pixels whose ``first`` is j are starts[j] to starts[j + 1] − 1; n + 1 numbers.

    >>> axis = Axis(2, 4, False)
    >>> axis.first.tolist(), axis.weight.tolist(), axis.starts
    ([0, 0, 0, 1], [0.0, 0.25, 0.75, 0.0], [0, 3, 4])
    """

    def __init__(self, cells: int, pixels: int, corners: bool) -> None:
        self.cells, self.pixels = cells, pixels
        place = torch.arange(pixels)
        if corners:
            numerator, self.divisor = place * (cells - 1), max(1, pixels - 1)
        else:
            numerator, self.divisor = ((2 * place + 1) * cells - pixels).clamp_(min=0), 2 * pixels
        self.first = (numerator // self.divisor).clamp_(max=max(0, cells - 1))
        self.rest = torch.where(self.first < cells - 1, numerator % self.divisor, 0)
        self.second = self.first + (self.rest > 0)
        self.weight = self.rest.double() / self.divisor
        self.starts: list[int] = torch.searchsorted(self.first, torch.arange(cells + 1)).tolist()

    @property
    def same(self) -> bool:
        """Whether there is nothing to interpolate."""
        return self.cells == self.pixels

    def touching(self, cells: slice) -> slice:
        """The pixels that touch any of these cells."""
        return cells if self.same else slice(self.starts[max(0, cells.start - 1)], self.starts[cells.stop])

    def widest(self, cells: int) -> int:
        """The largest number of pixels that lie around a block of so many cells."""
        blocks = range(0, self.cells, cells)
        return max(self.starts[min(first + cells, self.cells)] - self.starts[max(0, first - 1)] for first in blocks)

    def needed(self, pixels: slice) -> slice:
        """The cells that any of these pixels touches."""
        return slice(int(self.first[pixels.start]), int(self.second[pixels.stop - 1]) + 1)

    def taps(self, cells: slice) -> tuple[Tensor, Tensor]:
        """Which pixels touch each cell, counted from the first of :meth:`touching`, and how strongly: both (cells, L).

        Where fewer than L do, the rest point at one that does, with weight 0.
        """
        own = torch.arange(cells.start, cells.stop)
        starts = torch.tensor(self.starts)
        begin, end = starts[(own - 1).clamp_(min=0)], starts[own + 1]
        pixel = begin[:, None] + torch.arange(int((end - begin).max()))
        pixel = pixel.where(pixel < end[:, None], starts[own][:, None])
        beyond = torch.arange(pixel.shape[1]) >= (end - begin)[:, None]
        weight = self.weight[pixel]
        weight = torch.where(self.first[pixel] == own[:, None], 1 - weight, weight)
        unused = beyond | ((self.first[pixel] != own[:, None]) & (self.rest[pixel] == 0))
        pixel = pixel.where(~unused, starts[own][:, None])
        return pixel - self.touching(cells).start, weight.masked_fill_(unused, 0)


@lru_cache(maxsize=64)
def axis_of(cells: int, pixels: int, corners: bool) -> Axis:
    """The axis of two lengths, made once."""
    return Axis(cells, pixels, corners)


class Enlargement:
    """From a small grid to the full size, piece by piece.

    Args:
        small: the cells of each axis.
        full: the pixels of each.
        upsample: ``"linear"`` or ``"linear-corners"``.
    """

    def __init__(self, small: Sequence[int], full: Sequence[int], upsample: str) -> None:
        pairs = zip(small, full, strict=True)
        self.axes = [axis_of(cells, pixels, upsample == CORNERS) for cells, pixels in pairs]

    def needed(self, pixels: Slices) -> Slices:
        """The cells that a piece of the full size touches."""
        return tuple(axis.needed(one) for axis, one in zip(self.axes, pixels, strict=True))

    def touching(self, cells: Slices) -> Slices:
        """The pixels that touch a piece of the small grid."""
        return tuple(axis.touching(one) for axis, one in zip(self.axes, cells, strict=True))

    def enlarged(self, values: Tensor, pixels: Slices, scratch: Scratch) -> Tensor:
        """The piece ``pixels`` of the full size, from ``values`` (B, C, *cells) at :meth:`needed`.

        The last axis comes first: the fewer rows there are, the less there is to do.
        """
        for dim in reversed(range(2, values.dim())):
            axis, piece = self.axes[dim - 2], pixels[dim - 2]
            if not axis.same:
                values = _between(values, dim, axis, piece, scratch)
        return values

    def reduced(self, values: Tensor, cells: Slices) -> Tensor:
        """The transpose: what the piece ``cells`` gets from ``values`` (B, C, *pixels) at :meth:`touching`."""
        for dim in range(2, values.dim()):
            axis, piece = self.axes[dim - 2], cells[dim - 2]
            if not axis.same:
                values = _gathered(values, dim, *axis.taps(piece))
        return values

    def places(self, images: int, pixels: int) -> Iterator[Place]:
        """Pieces of the small grid which ``pixels`` of the full size touch, about; they cover it once.

        Pieces are as square as can be: their borders are computed twice.
        """
        lengths = [axis.cells for axis in self.axes]
        if images == 0 or prod(lengths) == 0:
            return
        extents = [axis.pixels for axis in self.axes]
        while prod(extents) > pixels and any(length > 1 for length in lengths):
            longest = max((place for place, length in enumerate(lengths) if length > 1), key=lambda one: extents[one])
            lengths[longest] = (lengths[longest] + 1) // 2
            axis = self.axes[longest]
            extents[longest] = -(-axis.pixels * (lengths[longest] + (0 if axis.same else 1)) // axis.cells)
        together = max(1, pixels // max(1, prod(axis.pixels for axis in self.axes)))
        for first in range(0, images, together):
            for piece in _boxes([axis.cells for axis in self.axes], lengths):
                yield slice(first, min(first + together, images)), piece


def _between(values: Tensor, dim: int, axis: Axis, piece: slice, scratch: Scratch) -> Tensor:
    """Pixels ``piece`` of one axis: first · (1 − weight) + second · weight."""
    start = axis.needed(piece).start
    shape = [1] * values.dim()
    shape[dim] = piece.stop - piece.start
    whole = [*values.shape]
    whole[dim] = shape[dim]
    device = values.device
    weight = axis.weight[piece].to(device, values.dtype)
    other = (1 - axis.weight[piece]).to(device, values.dtype)
    first, second = (one[piece].sub(start).to(device) for one in (axis.first, axis.second))
    low = torch.index_select(values, dim, first, out=scratch(f"first {dim}", *whole)).mul_(other.view(shape))
    high = torch.index_select(values, dim, second, out=scratch(f"second {dim}", *whole))
    untouched = (axis.rest[piece] == 0).nonzero().flatten()
    if len(untouched):
        high.index_fill_(dim, untouched.to(device), 0)  # 0 · infinity is not 0
    return low.addcmul_(high, weight.view(shape))


def _gathered(values: Tensor, dim: int, pixel: Tensor, weight: Tensor) -> Tensor:
    """Σ over the taps of one axis of values · weight."""
    shape = [1] * values.dim()
    shape[dim] = len(pixel)
    pixel, weight = pixel.to(values.device), weight.to(values.device, values.dtype)
    total = values.index_select(dim, pixel[:, 0]).mul_(weight[:, 0].view(shape))
    for tap in range(1, pixel.shape[1]):
        total.addcmul_(values.index_select(dim, pixel[:, tap]), weight[:, tap].view(shape))
    return total


def _boxes(sizes: Sequence[int], lengths: Sequence[int]) -> Iterator[Slices]:
    if not sizes:
        yield ()
        return
    for start in range(0, sizes[0], lengths[0]):
        for rest in _boxes(sizes[1:], lengths[1:]):
            yield (slice(start, min(start + lengths[0], sizes[0])), *rest)
