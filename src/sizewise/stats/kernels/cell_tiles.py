"""The sums per cell: each program walks over tiles of one row and adds each tile's share of every cell it meets.

Cells are compact, so the pixels of a tile come in few runs of one cell. With the values' running sum along the tile,
the last pixel of a run adds it to its own cell and takes it from the next one, so that each cell keeps the sum of its
runs. All of this is done with integers, whose sum has no order: fractions of 2^−32 in the table, and of 2^−20 for
losses, which have no upper bound. What is not a number is counted in a plane of its own.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.forward import focal_value
from sizewise.stats.kernels.tile import (
    COUNT,
    FOCAL,
    LN_2,
    OVERLAP,
    PIXELS,
    exponentials,
    load_classes,
    pixel_offsets,
    row_start,
    subtract_maximum,
)

SHARE_BITS = tl.constexpr(32)
LOSS_UNIT = tl.constexpr(float(1 << 20))
LARGEST_LOSS = tl.constexpr(float(1 << 16))
NO_CELL = tl.constexpr((1 << 31) - 1)


@triton.jit
def beside(chunks, k: tl.constexpr):
    """Σ over the classes other than k."""
    rest = tl.zeros_like(chunks[0])
    for c in tl.static_range(len(chunks)):
        if c != k:
            rest += chunks[c]
    return rest


@triton.jit
def wanted_share(share, label, k: tl.constexpr, SHARES: tl.constexpr, DTYPE: tl.constexpr):
    """The target's share of class k at each pixel."""
    if SHARES:
        return share[k]
    else:
        return tl.where(label == k, 1.0, 0.0).to(DTYPE)


@triton.jit
def pixel_value(shifted, e, total, y, k: tl.constexpr, KIND: tl.constexpr, PARAMETER: tl.constexpr):
    """What each pixel adds to a sum of class k."""
    inverse = 1.0 / total
    if KIND == COUNT:
        return y
    elif KIND == PIXELS:
        return tl.full(y.shape, 1.0, y.dtype)
    elif KIND == FOCAL:
        minus_log = (tl.log2(total) - shifted[k]) * LN_2
        value = focal_value(minus_log, beside(e, k) * inverse, PARAMETER)
        return tl.where(y > 0, value * y, 0.0)  # 0 · log 0 = 0
    elif KIND == OVERLAP:
        value = tl.minimum(e[k] * inverse, y)
        return tl.where(inverse == inverse, value, inverse)  # the smaller of two drops a NaN
    else:
        e_tau, total_tau = exponentials(shifted, PARAMETER, 1)
        return e_tau[k] / total_tau


@triton.jit
def load_cells(start, per_map, offsets, position: tl.constexpr, counted, most):
    """The cell numbers of a tile, NO_CELL where a pixel has none or does not count."""
    number = tl.load(start + position * tl.full([], per_map, tl.int64) + offsets, mask=counted, other=0)
    return tl.where(counted & (number > 0) & (number <= most), number, NO_CELL)


@triton.jit
def add_runs(place, next_place, value, counted, ends, gives, KIND: tl.constexpr, BITS: tl.constexpr):
    """Add a value's running sum to the own cell where a run ends, and take it from the next one where that counts.

    BITS is that of a tile whose values are all 1, in an unsigned integer of 32.
    """
    value = tl.where(counted & (value == value), value, 0.0)
    if KIND == FOCAL:
        whole = tl.cumsum((tl.minimum(value, LARGEST_LOSS) * LOSS_UNIT + 0.5).to(tl.int64), axis=1)
    else:
        parts = tl.cumsum((value * (1 << BITS) + 0.5).to(tl.int32), axis=1)
        whole = parts.to(tl.uint32, bitcast=True).to(tl.int64) << (SHARE_BITS - BITS)
    tl.atomic_add(place, whole, mask=ends, sem="relaxed")
    tl.atomic_add(next_place, -whole, mask=gives, sem="relaxed")


@triton.jit
def cell_tiles(
    logits,
    target,
    mask,
    maps,
    table,
    pixels,
    programs,
    channels,
    rows,
    ignore,
    width,
    height,
    z_image,
    z_channel,
    z_outer,
    z_middle,
    z_inner,
    y_image,
    y_channel,
    y_outer,
    y_middle,
    y_inner,
    m_image,
    m_channel,
    m_outer,
    m_middle,
    m_inner,
    c_image,
    c_channel,
    c_outer,
    c_middle,
    c_inner,
    most,
    per_plane,
    KINDS: tl.constexpr,
    PARAMETERS: tl.constexpr,
    POSITIONS: tl.constexpr,
    K: tl.constexpr,
    BLOCK: tl.constexpr,
    AXES: tl.constexpr,
    SIGMOID: tl.constexpr,
    SHARES: tl.constexpr,
    HAS_MASK: tl.constexpr,
    HAS_IGNORE: tl.constexpr,
    UNLABELLED: tl.constexpr,
    EVEN: tl.constexpr,
    WIDE: tl.constexpr,
    LABEL: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """``table`` is int64, (fields + 1, images · most, channels, regions), and 0 at first; the last plane counts NaNs.

    POSITIONS[k] is the map of class k, −1 for none. A sigmoid channel has the map of its own number, which both its
    regions share: it is walked through with region 0.
    """
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    image = row // channels if SIGMOID else row
    z_start = row_start(logits, row, z_image, z_channel, channels, SIGMOID)
    y_start = row_start(target, row, y_image, y_channel, channels, SIGMOID)
    m_start = row_start(mask, row, m_image, m_channel, channels, SIGMOID)
    c_start = row_start(maps, row, c_image, c_channel, channels, SIGMOID)
    REGIONS: tl.constexpr = 2 if SIGMOID else 1
    TILE_BITS: tl.constexpr = 26 if BLOCK == 32 else 25 if BLOCK == 64 else 24  # BLOCK of them fit in 32
    tl.static_assert(BLOCK <= 128)
    own = table + (image.to(tl.int64) * most - 1) * channels * REGIONS

    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tl.cdiv(pixels, BLOCK), programs):
        lane = tl.arange(0, BLOCK)[None, :]
        pixel = tile * BLOCK + lane
        inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else pixel < pixels
        z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
        y_offsets = pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
        c_offsets = pixel_offsets(pixel, width, height, c_outer, c_middle, c_inner, AXES)
        next_offsets = pixel_offsets(pixel + 1, width, height, c_outer, c_middle, c_inner, AXES)
        logit = load_classes(z_start, z_channel, z_offsets, inside, 0.0, K, 1, SIGMOID, DTYPE)
        valid = inside
        if HAS_MASK:
            m_offsets = pixel_offsets(pixel, width, height, m_outer, m_middle, m_inner, AXES)
            valid = inside & (tl.load(m_start + m_offsets, mask=inside, other=0) != 0)
        if SHARES:
            share = load_classes(y_start, y_channel, y_offsets, inside, 0.0, K, 1, SIGMOID, DTYPE)
            if SIGMOID:
                share = (1.0 - share[1], share[1])
            label = tl.zeros([1, BLOCK], tl.int32)
        else:
            share = ()
            label = tl.load(y_start + y_offsets, mask=inside, other=0).to(LABEL)
            if HAS_IGNORE:
                valid = valid & (label != ignore)
            label = tl.where((label >= 0) & (label < K), label, -1).to(tl.int32)
        shifted = subtract_maximum(logit, valid, 1, HAS_MASK or HAS_IGNORE)
        e, total = exponentials(shifted, 1.0, 1)

        for k in tl.static_range(K):
            if POSITIONS[k] >= 0:
                own_map = c_start + POSITIONS[k] * tl.full([], c_channel, tl.int64)
                here = tl.load(own_map + c_offsets, mask=inside, other=0)
                after = tl.load(own_map + next_offsets, mask=inside & (pixel + 1 < pixels), other=0)
                known = (here > 0) & (here <= most)
                counted = valid & known
                turns = (here != after) & (lane < BLOCK - 1)
                ends = known & (turns | (lane == BLOCK - 1))
                gives = turns & (after > 0) & (after <= most)
                if SIGMOID:
                    column = row % channels
                else:
                    column = k
                place = own + (here.to(tl.int64) * channels + column) * REGIONS
                next_place = own + (after.to(tl.int64) * channels + column) * REGIONS
                for r in tl.static_range(REGIONS):
                    y = wanted_share(share, label, r if SIGMOID else k, SHARES, DTYPE)
                    # most tiles have no pixel of a class that is small, and nothing to add to its sums over the label
                    meets = tl.max(tl.max((counted & (y > 0)).to(tl.int32), axis=1), axis=0) > 0
                    for f in tl.static_range(len(KINDS)):
                        plane = f * tl.full([], per_plane, tl.int64) + r
                        if KINDS[f] == COUNT or KINDS[f] == OVERLAP or KINDS[f] == FOCAL:
                            if meets:
                                value = pixel_value(shifted, e, total, y, r if SIGMOID else k, KINDS[f], PARAMETERS[f])
                                add_runs(
                                    place + plane, next_place + plane, value, counted, ends, gives, KINDS[f], TILE_BITS
                                )
                        else:
                            value = pixel_value(shifted, e, total, y, r if SIGMOID else k, KINDS[f], PARAMETERS[f])
                            add_runs(
                                place + plane, next_place + plane, value, counted, ends, gives, KINDS[f], TILE_BITS
                            )
                    strange = (counted & (total != total)).to(tl.int32)
                    if tl.max(tl.max(strange, axis=1), axis=0) > 0:
                        nan = len(KINDS) * tl.full([], per_plane, tl.int64) + r
                        tl.atomic_add(place + nan, 1, mask=strange > 0, sem="relaxed")
