"""From pieces to cells: what the lanes of the upsampled backward hand over to the cells that their pieces touch."""

# Triton compiles these functions: arguments are what it makes of them, and tuples grow by adding.
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def taps_of(x_table, x_pieces, cell, owned, first_piece, TAPS: tl.constexpr):
    """The pieces around each cell: which lane has them, and whether the cell is the first or the second of theirs."""
    starts = x_table + 4 * x_pieces
    begin = tl.load(starts + tl.maximum(cell - 1, 0), mask=owned, other=0)
    end = tl.load(starts + cell + 1, mask=owned, other=0)
    lanes = ()
    firsts = ()
    seconds = ()
    for tap in tl.static_range(TAPS):
        piece = begin + tap
        there = owned & (piece < end)
        first = tl.load(x_table + 2 * x_pieces + piece, mask=there, other=-1)
        second = tl.load(x_table + 3 * x_pieces + piece, mask=there, other=-1)
        lanes = lanes + (tl.where(there, piece - first_piece, 0),)
        firsts = firsts + (there & (first == cell),)
        seconds = seconds + (there & (second == cell) & (first != cell),)
    return lanes, firsts, seconds


@triton.jit
def gathered(left, right, taps):
    """What each cell gets from the pieces around it, (CHUNK, LANES) with one cell to a lane."""
    lanes, firsts, seconds = taps
    total = tl.zeros_like(left)
    for tap in tl.static_range(len(lanes)):
        lane = tl.broadcast_to(lanes[tap], left.shape)
        total = tl.where(firsts[tap], total + tl.gather(left, lane, 1), total)
        total = tl.where(seconds[tap], total + tl.gather(right, lane, 1), total)
    return total
