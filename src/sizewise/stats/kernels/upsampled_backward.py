"""The backward kernel for logits smaller than the target: each program owns cells, and visits the pixels around them.

A program owns a block of cells of the innermost axis, a segment of the middle one, and one cell of the outermost. It
walks down the pixels' rows with one column to a lane, and adds up each column's gradient for the row of cells above and
the one below. When it has passed a row of cells, that row's columns meet in its cells: no two programs write to one
place, so there is nothing to add up in any order but one. The price is that pixels between two programs are visited by
both.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.interpolation import interpolated_classes, weight_of, widened
from sizewise.stats.kernels.pixel_gradient import class_gradient, load_slots, pixel_parts
from sizewise.stats.kernels.tile import load_classes, row_start, subtract_maximum


@triton.jit
def gathered(
    columns,
    table,
    starts,
    cell,
    owned,
    first_column,
    width,
    taps,
    CORNERS: tl.constexpr,
    BLOCK: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """What each cell gets from the columns around it, for every chunk: (CHUNK, BLOCK) with one cell to a lane."""
    begin = tl.load(starts + tl.maximum(cell - 1, 0), mask=owned, other=0)
    end = tl.load(starts + cell + 1, mask=owned, other=0)
    totals = ()
    for c in tl.static_range(len(columns)):
        totals = totals + (tl.zeros_like(columns[c]),)
    for tap in range(taps):
        x = begin + tap
        there = owned & (x < end)
        first = tl.load(table + x, mask=there, other=0)
        share = weight_of(tl.load(table + width + x, mask=there, other=0), tl.full([], width, tl.int32), CORNERS, DTYPE)
        share = tl.where(first == cell, 1.0 - share, share)
        share = tl.where(there, share, 0.0)
        lane = tl.where(there, x - first_column, 0).to(tl.int32)
        added = ()
        for c in tl.static_range(len(columns)):
            value = tl.gather(columns[c], tl.broadcast_to(lane, columns[c].shape), 1)
            added = added + (tl.where(share > 0, totals[c] + share * value, totals[c]),)
        totals = added
    return totals


@triton.jit
def gradient_cells(
    coefficients,
    upstream,
    logits,
    target,
    mask,
    gradient,
    table,
    channels,
    rows,
    ignore,
    width,
    height,
    depth,
    small_width,
    small_height,
    small_depth,
    cells,
    blocks,
    segment,
    segments,
    taps,
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
    g_image,
    g_channel,
    g_outer,
    g_middle,
    g_inner,
    KINDS: tl.constexpr,
    GAMMAS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    SIZES: tl.constexpr,
    KEPT_SIZES: tl.constexpr,
    SLOTS: tl.constexpr,
    TERMS: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
    AXES: tl.constexpr,
    CORNERS: tl.constexpr,
    SIGMOID: tl.constexpr,
    SHARES: tl.constexpr,
    HAS_MASK: tl.constexpr,
    HAS_IGNORE: tl.constexpr,
    UNLABELLED: tl.constexpr,
    LABEL: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """``cells`` of the innermost axis and ``segment`` of the middle one belong to each program.

    There are ``blocks`` and ``segments`` of them. The other arguments are those of the kernel for logits of the
    target's size.
    """
    program = tl.program_id(0)
    block = program % blocks
    program = program // blocks
    part = program % segments
    program = program // segments
    own_depth = program % small_depth
    row = program // small_depth
    z_start = row_start(logits, row, z_image, z_channel, channels, SIGMOID)
    y_start = row_start(target, row, y_image, y_channel, channels, SIGMOID)
    m_start = row_start(mask, row, m_image, m_channel, channels, SIGMOID)
    g_start = row_start(gradient, row, g_image, g_channel, channels, SIGMOID)
    per_class = tl.full([], g_channel, tl.int64)
    CHUNKS: tl.constexpr = (K + CHUNK - 1) // CHUNK
    FIRST: tl.constexpr = 1 if SIGMOID else 0  # of the classes that have a gradient of their own
    SELECT: tl.constexpr = HAS_MASK or HAS_IGNORE
    parts = load_slots(coefficients, row, rows, KINDS, TEMPERATURES, SLOTS, TERMS, K, CHUNK)
    factor_on_all = tl.load(upstream)

    rows_table = table + 2 * width
    depth_table = rows_table + 2 * height
    starts = depth_table + 2 * depth
    row_starts = starts + small_width + 1
    depth_starts = row_starts + small_height + 1

    first_cell = block * cells
    first_column = tl.load(starts + tl.maximum(first_cell - 1, 0))
    last_column = tl.load(starts + tl.minimum(first_cell + cells, small_width))
    x = first_column + tl.arange(0, BLOCK)[None, :]
    inside = x < last_column
    x_first = tl.load(table + x, mask=inside, other=0)
    x_rest = tl.load(table + width + x, mask=inside, other=0)
    x_share = weight_of(x_rest, tl.full([], width, tl.int32), CORNERS, DTYPE)
    base_places = (tl.zeros_like(x_first).to(tl.int64),)
    base_weights = (tl.full(x_first.shape, 1.0, DTYPE),)
    base_touched = (inside,)
    base = widened(base_places, base_weights, base_touched, x_first, x_rest, x_share, z_inner)

    lane = tl.arange(0, BLOCK)[None, :]
    cell = first_cell + lane
    owned = (lane < cells) & (cell < small_width)

    first_row = part * segment
    last_row = tl.minimum(first_row + segment, small_height)
    first_plane = tl.load(depth_starts + tl.maximum(own_depth - 1, 0))
    last_plane = tl.load(depth_starts + own_depth + 1)

    above = ()
    for _c in tl.static_range(FIRST, CHUNKS):
        above = above + (tl.zeros([CHUNK, BLOCK], DTYPE),)
    for i in range(tl.maximum(first_row - 1, 0), last_row):
        below = ()
        for _c in tl.static_range(FIRST, CHUNKS):
            below = below + (tl.zeros([CHUNK, BLOCK], DTYPE),)
        next_row = tl.minimum(i + 1, small_height - 1)
        first_pixel = tl.load(row_starts + i)
        last_pixel = tl.load(row_starts + i + 1)
        for plane in range(first_plane, last_plane):
            around = base
            plane_share = 1.0
            if AXES > 2:
                plane_first = tl.load(depth_table + plane)
                plane_rest = tl.load(depth_table + depth + plane)
                behind = weight_of(plane_rest, tl.full([], depth, tl.int32), CORNERS, DTYPE)
                plane_share = tl.where(plane_first == own_depth, 1.0 - behind, behind)
                each = plane_rest + tl.zeros_like(x_rest)
                around = widened(base[0], base[1], base[2], plane_first, each, behind, z_outer)
            top = z_start + tl.full([], i, tl.int64) * z_middle
            bottom = z_start + tl.full([], next_row, tl.int64) * z_middle
            upper = interpolated_classes(top, z_channel, around, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
            lower = interpolated_classes(bottom, z_channel, around, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
            for y in range(first_pixel, last_pixel):
                y_rest = tl.load(rows_table + height + y)
                y_share = weight_of(y_rest, tl.full([], height, tl.int32), CORNERS, DTYPE)
                logit = ()
                for c in tl.static_range(CHUNKS):
                    between = upper[c] * (1.0 - y_share) + lower[c] * y_share
                    logit = logit + (tl.where(y_rest > 0, between, upper[c]),)
                y_line = tl.full([], plane, tl.int64) * y_outer + tl.full([], y, tl.int64) * y_middle
                kept = inside
                if HAS_MASK:
                    m_line = tl.full([], plane, tl.int64) * m_outer + tl.full([], y, tl.int64) * m_middle
                    kept = inside & (tl.load(m_start + m_line + x * m_inner, mask=inside, other=0) != 0)
                valid = kept
                if SHARES:
                    share = load_classes(
                        y_start + y_line, y_channel, x * y_inner, inside, 0.0, K, CHUNK, SIGMOID, DTYPE
                    )
                    if SIGMOID:
                        share = (1.0 - share[1], share[1])
                    chosen = ()
                    for c in tl.static_range(CHUNKS):
                        chosen = chosen + (tl.where(valid, share[c], 0.0),)
                    wanted = chosen
                else:
                    label = tl.load(y_start + y_line + x * y_inner, mask=inside, other=0).to(LABEL)
                    if HAS_IGNORE:
                        valid = kept & (label != ignore)
                    wanted = tl.where(valid & (label >= 0) & (label < K), label, -1).to(tl.int32)
                entering = kept if UNLABELLED else valid
                shifted = subtract_maximum(logit, entering, CHUNK, SELECT)
                found = pixel_parts(
                    shifted,
                    wanted,
                    kept,
                    valid,
                    parts,
                    factor_on_all,
                    KINDS,
                    GAMMAS,
                    TEMPERATURES,
                    SIZES,
                    KEPT_SIZES,
                    CHUNK,
                    SHARES,
                )
                up = (1.0 - y_share) * plane_share
                down = y_share * plane_share
                new_above = ()
                new_below = ()
                for c in tl.static_range(FIRST, CHUNKS):
                    value = class_gradient(found, wanted, entering, parts, c, SIZES, KEPT_SIZES, CHUNK, SHARES, SELECT)
                    new_above = new_above + (above[c - FIRST] + up * value,)
                    new_below = new_below + (below[c - FIRST] + down * value,)
                above = new_above
                below = new_below
        if i >= first_row:
            totals = gathered(above, table, starts, cell, owned, first_column, width, taps, CORNERS, BLOCK, DTYPE)
            g_line = g_start + tl.full([], own_depth, tl.int64) * g_outer + tl.full([], i, tl.int64) * g_middle
            g_offsets = cell.to(tl.int64) * g_inner
            for c in tl.static_range(FIRST, CHUNKS):
                value = totals[c - FIRST].to(gradient.dtype.element_ty)
                if SIGMOID:
                    tl.store(g_line + g_offsets, value, mask=owned)
                elif CHUNK == 1:
                    tl.store(g_line + c * per_class + g_offsets, value, mask=owned)
                else:
                    classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
                    tl.store(g_line + classes * per_class + g_offsets, value, mask=owned & (classes < K))
        above = below
