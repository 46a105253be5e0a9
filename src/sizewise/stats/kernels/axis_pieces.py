"""Runs of pixels that lie between the same two cells of one axis: what a thread of the upsampling kernels works on.

All pixels of a piece read the same two cells, so a thread reads each cell once for all of them, and adds up what they
give back before anyone else has to know of it.
"""

from functools import lru_cache
from itertools import pairwise

import torch
from torch import Tensor

from sizewise.stats.kernels.kept_tensors import kept_tensor
from sizewise.stats.upsampling import Axis, axis_of

# What the corners of a piece cost to read and to hand over, in pixels.
PIXELS_FOR_CORNERS = 2


class Pieces:
    """The pixels of an axis cut into pieces of at most ``longest``.

    Attributes:
        begin: the first pixel of each piece; its end is that of the last.
        first: the cell before its pixels.
        second: the cell after them; the same where none of them touches it.
        starts: the pieces whose ``first`` is j are starts[j] to starts[j + 1] − 1; cells + 1 numbers.

    >>> pieces = Pieces(axis_of(2, 8, False), 4)
    >>> pieces.begin.tolist(), pieces.first.tolist(), pieces.second.tolist(), pieces.starts
    ([0, 2, 6], [0, 0, 1], [0, 1, 1], [0, 2, 3])
    """

    def __init__(self, axis: Axis, longest: int) -> None:
        self.axis, self.longest = axis, longest
        # a pixel that lies on a cell touches no other, so it may not be in a piece that does
        changes = (axis.first.diff() != 0) | (axis.second.diff() != 0)
        runs = [0, *(changes.nonzero().flatten() + 1).tolist(), axis.pixels]
        begin = [one for start, stop in pairwise(runs) for one in range(start, stop, longest)]
        self.begin = torch.tensor(begin)
        self.end = torch.minimum(self.begin + longest, torch.tensor([*begin[1:], axis.pixels]))
        self.first, self.second = axis.first[self.begin], axis.second[self.begin]
        self.starts: list[int] = torch.searchsorted(self.first, torch.arange(axis.cells + 1)).tolist()

    def __len__(self) -> int:
        return len(self.begin)

    def around(self, first: int, cells: int) -> int:
        """How many pieces touch so many cells from the first on."""
        return self.starts[min(first + cells, self.axis.cells)] - self.starts[max(0, first - 1)]

    def widest(self, cells: int) -> int:
        """The largest number of pieces that lie around a block of so many cells."""
        return max(self.around(first, cells) for first in range(0, self.axis.cells, cells))

    def most_around_one(self) -> int:
        """The largest number of pieces that touch one cell."""
        return max(self.around(cell, 1) for cell in range(self.axis.cells))

    def cells_in(self, lanes: int) -> int:
        """How many neighbouring cells so many pieces cover, wherever their block begins."""
        cells = max(1, min(self.axis.cells, lanes))
        while cells > 1 and self.widest(cells) > lanes:
            cells -= 1
        return cells

    def table(self) -> Tensor:
        """What the kernels read: begin, end, first and second of each piece, the starts, then each pixel's rest."""
        starts = torch.tensor(self.starts)
        return torch.cat((self.begin, self.end, self.first, self.second, starts, self.axis.rest)).to(torch.int32)


@lru_cache(maxsize=64)
def pieces_of(cells: int, pixels: int, corners: bool, most: int) -> Pieces:
    """Pieces of the length, up to ``most``, that costs the least: empty places for pixels count, and so do pieces."""
    axis = axis_of(cells, pixels, corners)
    pieces = [Pieces(axis, length) for length in range(most, 0, -1)]
    return min(pieces, key=lambda one: len(one) * (one.longest + PIXELS_FOR_CORNERS))


@lru_cache(maxsize=64)
def piece_table(cells: int, pixels: int, corners: bool, most: int, device: torch.device) -> Tensor:
    """The table of such pieces, on a device."""
    return kept_tensor(device, lambda: pieces_of(cells, pixels, corners, most).table().to(device))
