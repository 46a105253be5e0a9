"""The logits of the pixels of a piece: read at its corners, interpolated in registers, a chunk of classes at a time.

The classes come in a loop, not unrolled, so that any number of them takes the same few registers and the compiler sees
each load once. The softmax is therefore taken in two turns: the first finds the maximum and the sum of exponentials,
scaling what it has down whenever the maximum rises, the second has both.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import FUSED, LOG2_E
from sizewise.stats.kernels.interpolation import weight_of
from sizewise.stats.kernels.raw_access import read

# Lower than any logit, and finite: what no class was compared with yet.
LOWEST = tl.constexpr(-3e38)


@triton.jit
def piece_at(table, pieces, piece):
    """First pixel, end, and both cells of a piece."""
    return (
        tl.load(table + piece),
        tl.load(table + pieces + piece),
        tl.load(table + 2 * pieces + piece),
        tl.load(table + 3 * pieces + piece),
    )


@triton.jit
def pixels_of(rests, begin, end, pixels, LONGEST: tl.constexpr, CORNERS: tl.constexpr, DTYPE: tl.constexpr):
    """For each of a piece's pixels: where it is, whether it is there, and the second cell's share of it."""
    places = ()
    there = ()
    shares = ()
    for r in tl.static_range(LONGEST):
        place = tl.minimum(begin + r, end - 1)
        rest = tl.load(rests + place)
        places = places + (place,)
        there = there + (begin + r < end,)
        shares = shares + (weight_of(rest, tl.full([], pixels, tl.int32), CORNERS, DTYPE),)
    return places, there, shares


@triton.jit
def reading_weights(shares):
    """What both cells are multiplied with; a pixel on a cell takes half of it twice, as 0 · infinity is not 0."""
    near = ()
    far = ()
    for r in tl.static_range(len(shares)):
        near = near + (tl.where(shares[r] > 0, 1.0 - shares[r], 0.5),)
        far = far + (tl.where(shares[r] > 0, shares[r], 0.5),)
    return near, far


@triton.jit
def corners_at(x_first, x_second, y_first, y_second, d_first, d_second, z_outer, z_middle, z_inner, AXES: tl.constexpr):
    """Offsets of the four cells around a piece, those of the second plane after those of the first."""
    left = x_first.to(tl.int64) * z_inner
    right = x_second.to(tl.int64) * z_inner
    top = y_first.to(tl.int64) * z_middle
    bottom = y_second.to(tl.int64) * z_middle
    corners = (top + left, top + right, bottom + left, bottom + right)
    if AXES > 2:
        front = d_first.to(tl.int64) * z_outer
        back = d_second.to(tl.int64) * z_outer
        corners = (
            front + corners[0],
            front + corners[1],
            front + corners[2],
            front + corners[3],
            back + corners[0],
            back + corners[1],
            back + corners[2],
            back + corners[3],
        )
    return corners


@triton.jit
def class_corners(
    start,
    z_channel,
    classes,
    corners,
    d_weights,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    SIGMOID: tl.constexpr,
    AXES: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The logits of a chunk of classes at a piece's four corners, (CHUNK, LANES), those of two planes joined.

    They are −∞ past K, and with a sigmoid 0 for class 0.
    """
    if SIGMOID:
        own = start + classes.to(tl.int64) * 0
    else:
        own = start + tl.minimum(classes, K - 1) * tl.full([], z_channel, tl.int64)
    found = ()
    for i in tl.static_range(4):
        value = read(own + corners[i], classes >= 0, True).to(DTYPE)
        if AXES > 2:
            value = value * d_weights[0] + read(own + corners[4 + i], classes >= 0, True).to(DTYPE) * d_weights[1]
        if SIGMOID:
            value = tl.where(classes == 1, value, 0.0)
        elif K % CHUNK != 0:
            value = tl.where(classes < K, value, -float("inf"))
        found = found + (value,)
    return found


@triton.jit
def columns_of(cells, near, far):
    """The columns of a piece at the upper and then at the lower row of cells."""
    upper = ()
    lower = ()
    for r in tl.static_range(len(near)):
        upper = upper + (cells[0] * near[r] + cells[1] * far[r],)
        lower = lower + (cells[2] * near[r] + cells[3] * far[r],)
    return upper, lower


@triton.jit
def label_logit(
    start,
    z_channel,
    label,
    corners,
    d_weights,
    near,
    far,
    up,
    down,
    SIGMOID: tl.constexpr,
    AXES: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The logit of each pixel's label; 0 where that is −1."""
    if SIGMOID:
        own = start + label.to(tl.int64) * 0
        there = label == 1
    else:
        own = start + label * tl.full([], z_channel, tl.int64)
        there = label >= 0
    cells = ()
    for i in tl.static_range(4):
        value = read(own + corners[i], there, False).to(DTYPE)
        if AXES > 2:
            value = value * d_weights[0] + read(own + corners[4 + i], there, False).to(DTYPE) * d_weights[1]
        cells = cells + (value,)
    return (cells[0] * near + cells[1] * far) * up + (cells[2] * near + cells[3] * far) * down


@triton.jit
def raised(high, logit):
    """The maximum so far with a chunk of classes; times log2 e, where that can be subtracted without rounding."""
    top = tl.max(logit, axis=0, keep_dims=True)
    return tl.maximum(high, top * LOG2_E if FUSED else top)


@triton.jit
def below(logit, high):
    """x = (z − max z) log2 e. The maximum times log2 e is rounded, but equally for all classes: it cancels."""
    if FUSED:
        return tl.fma(logit, tl.full([1, 1], LOG2_E, logit.dtype), -high)
    else:
        return (logit - high) * LOG2_E


@triton.jit
def shrunk(old, new, TEMPERATURE: tl.constexpr):
    """What exponentials below the old maximum are multiplied with to be below the new one."""
    if FUSED:
        return tl.exp2((old - new) * TEMPERATURE)
    else:
        return tl.exp2((old - new) * (LOG2_E * TEMPERATURE))
