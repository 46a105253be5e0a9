"""How the programs of the sums per cell share the pixels: strips of lanes that go down from row to row."""

import math
from typing import NamedTuple

from torch import Tensor

from sizewise.stats.fields import Kind
from sizewise.stats.kernels.field_order import Fields
from sizewise.stats.kernels.shapes import Shape

# A warp exchanges values among its lanes without waiting for others. So many run at once on a multiprocessor, if a
# thread has no more than these registers.
LANES, WAVES, REGISTERS = 32, 16, 128
# Numbers that a thread keeps between two pixels, beside the sums of images; with more, the compiler spills them.
MOST_KEPT = 45
# Steps down a strip; a thread's sum of shares over all of them has to fit 31 bits with BITS behind the point.
MOST_STEPS = 256
MOST_BITS = 24
# A lane's products stay below 2 to this power; float32 ends at 127.
MOST_POWER = 120
# The rows that make a period, if one alone leaves lanes idle.
MOST_ROWS = 32


class Walk(NamedTuple):
    """PERIOD pixels on lies the pixel below; that many make STRIPS of lanes, and a program goes STEPS down."""

    period: int
    strips: int
    steps: int
    programs: int
    bits: int
    even: bool


def sums_shape(fields: int, maps: int) -> Shape:
    """As many neighbouring pixels in a thread, up to 4, as leave what it keeps of them in its registers."""
    vector = 4
    while vector > 1 and vector * maps * (fields + 2) > MOST_KEPT:
        vector //= 2
    return Shape(1, LANES * vector, 1, vector, WAVES)


def walk_of(logits: Tensor, pixels: int, rows: int, shape: Shape, processors: int) -> Walk:
    """The walk over (N, C, *S) logits: down the rows of the axis whose pixels are neighbours in memory.

    With rows shorter than a strip, or a little longer, several of them make a period.
    """
    axes = [axis for axis in range(2, logits.dim()) if logits.shape[axis] > 1]
    row = logits.shape[min(axes, key=lambda axis: logits.stride(axis))] if axes else 1
    count = max(range(1, MOST_ROWS + 1), key=lambda count: (filled(min(pixels, row * count), shape.block), -count))
    period = min(pixels, row * count)
    strips, lines = -(-period // shape.block), -(-pixels // period)
    wanted = max(1, -(-processors * shape.waves // (rows * strips)))
    steps = min(MOST_STEPS, -(-lines // wanted))
    bits = min(MOST_BITS, 30 - (steps * shape.vector - 1).bit_length())
    even = period % shape.block == 0 and pixels % period == 0
    return Walk(period, strips, steps, strips * -(-lines // steps), bits, even)


def filled(period: int, block: int) -> float:
    """The share of lanes that have a pixel, in steps of an eighth: a little less is no reason for longer periods."""
    return int(8 * period / (block * -(-period // block))) / 8


def fits_product(steps: int, vector: int, classes: int) -> bool:
    """Whether the product of Σe ≤ K over all pixels of a lane is a float."""
    return steps * vector * math.log2(classes) <= MOST_POWER


def starts_of(fields: Fields, classes: int) -> tuple[int, ...]:
    """Where the sums of each field start among all, which are one for each class, or one for a number of pixels."""
    starts, start = [], 0
    for kind, _ in fields:
        starts.append(start)
        start += 1 if kind == Kind.PIXELS else classes
    return tuple(starts)
