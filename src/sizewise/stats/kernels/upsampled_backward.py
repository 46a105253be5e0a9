"""The backward kernel for logits smaller than the target: each program owns cells, and visits the pixels around them.

A program owns a block of cells of the innermost axis, a segment of the middle one, and one cell of the outermost. A
lane takes the pixels between two columns of cells, a few rows at a time, adds up what they give to their four corners,
and the lanes hand over what belongs to their neighbours. The sums are added to the gradient in memory, which starts at
0: no two programs write to one place, so there is nothing to add up in any order but one. The price is that pixels
between two programs are visited by both.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.piece_coefficients import chunk_slots
from sizewise.stats.kernels.piece_gradient import pixel_factors, summed_exponentials
from sizewise.stats.kernels.piece_handover import gathered, taps_of
from sizewise.stats.kernels.piece_logits import (
    below,
    class_corners,
    columns_of,
    corners_at,
    piece_at,
    pixels_of,
    reading_weights,
)
from sizewise.stats.kernels.piece_share_pulls import share_pull, summed_share_pulls
from sizewise.stats.kernels.piece_targets import class_shares, piece_labels, piece_masks
from sizewise.stats.kernels.raw_access import read, write
from sizewise.stats.kernels.tile import row_start


@triton.jit
def gradient_of_pieces(
    coefficients,
    upstream,
    logits,
    target,
    mask,
    gradient,
    x_table,
    y_table,
    d_table,
    channels,
    rows,
    ignore,
    width,
    height,
    depth,
    small_width,
    small_height,
    small_depth,
    x_pieces,
    y_pieces,
    d_pieces,
    cells,
    blocks,
    segment,
    segments,
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
    BESIDE: tl.constexpr,
    TAPS: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    LANES: tl.constexpr,
    COLUMNS: tl.constexpr,
    LINES: tl.constexpr,
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

    There are ``blocks`` and ``segments`` of them. A lane's piece has COLUMNS by LINES pixels, and at most TAPS pieces
    touch a cell of the innermost axis.
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
    g_start += tl.full([], own_depth, tl.int64) * g_outer
    T: tl.constexpr = len(TEMPERATURES)
    factor_on_all = tl.load(upstream)
    x_rests = x_table + 4 * x_pieces + small_width + 1
    y_rests = y_table + 4 * y_pieces + small_height + 1
    d_rests = d_table + 4 * d_pieces + small_depth + 1

    first_cell = block * cells
    first_piece = tl.load(x_table + 4 * x_pieces + tl.maximum(first_cell - 1, 0))
    last_piece = tl.load(x_table + 4 * x_pieces + tl.minimum(first_cell + cells, small_width))
    lane = tl.arange(0, LANES)[None, :]
    inside = first_piece + lane < last_piece
    piece = tl.minimum(first_piece + lane, last_piece - 1)
    x_begin, x_end, x_first, x_second = piece_at(x_table, x_pieces, piece)
    xs, x_there, x_shares = pixels_of(x_rests, x_begin, x_end, width, COLUMNS, CORNERS, DTYPE)
    near, far = reading_weights(x_shares)
    cell = first_cell + lane
    owned = (lane < cells) & (cell < small_width)
    taps = taps_of(x_table, x_pieces, cell, owned, first_piece, TAPS)
    g_offsets = cell.to(tl.int64) * g_inner

    first_row = part * segment
    last_row = tl.minimum(first_row + segment, small_height)
    y_starts = y_table + 4 * y_pieces
    d_starts = d_table + 4 * d_pieces
    first_line = tl.load(y_starts + tl.maximum(first_row - 1, 0))
    last_line = tl.load(y_starts + last_row)
    first_plane = tl.load(d_starts + tl.maximum(own_depth - 1, 0))
    last_plane = tl.load(d_starts + own_depth + 1)
    lines = last_line - first_line
    for step in range((last_plane - first_plane) * lines):
        y_begin, y_end, y_first, y_second = piece_at(y_table, y_pieces, first_line + step % lines)
        plane, _end, d_first, d_second = piece_at(d_table, d_pieces, first_plane + step // lines)
        own_first = y_first >= first_row
        own_second = (y_second != y_first) & (y_second < last_row)
        if (own_first | own_second) & ((d_first == own_depth) | (d_second == own_depth)):
            ys, y_there, y_shares = pixels_of(y_rests, y_begin, y_end, height, LINES, CORNERS, DTYPE)
            _places, _there, d_shares = pixels_of(d_rests, plane, plane + 1, depth, 1, CORNERS, DTYPE)
            up, down = reading_weights(y_shares)
            front, back = reading_weights(d_shares)
            d_weights = (front[0], back[0])
            plane_share = tl.where(d_first == own_depth, 1.0 - d_shares[0], d_shares[0])
            corners = corners_at(
                x_first, x_second, y_first, y_second, d_first, d_second, z_outer, z_middle, z_inner, AXES
            )
            kept = piece_masks(m_start, inside, xs, x_there, ys, y_there, plane, m_outer, m_middle, m_inner, HAS_MASK)
            if SHARES:
                labels = kept  # there are none
                valid = kept
            else:
                labels, valid, _odd = piece_labels(
                    y_start, kept, xs, ys, plane, ignore, y_outer, y_middle, y_inner, K, HAS_IGNORE, LABEL
                )
            entering = kept if UNLABELLED else valid
            weights = (near, far, up, down, d_weights)
            highs, totals, products, kept_products = summed_exponentials(
                z_start,
                z_channel,
                corners,
                weights,
                entering,
                labels,
                coefficients,
                row,
                rows,
                KINDS,
                TEMPERATURES,
                SIZES,
                KEPT_SIZES,
                SLOTS,
                TERMS,
                BESIDE,
                K,
                CHUNK,
                LANES,
                AXES,
                SIGMOID,
                SHARES,
                DTYPE,
            )
            places = ()
            for i in tl.static_range(LINES * COLUMNS):
                y_line = plane.to(tl.int64) * y_outer + ys[i // COLUMNS].to(tl.int64) * y_middle
                places = places + (y_line + xs[i % COLUMNS].to(tl.int64) * y_inner,)
            pulled = ()
            if SHARES and len(KINDS) > 0:
                pulled = summed_share_pulls(
                    z_start,
                    z_channel,
                    y_start,
                    y_channel,
                    places,
                    corners,
                    weights,
                    entering,
                    valid,
                    highs,
                    totals,
                    coefficients,
                    row,
                    rows,
                    KINDS,
                    GAMMAS,
                    T,
                    SLOTS,
                    TERMS,
                    K,
                    CHUNK,
                    LANES,
                    AXES,
                    SIGMOID,
                    DTYPE,
                )
            factors, scales, kept_scales, pulls = pixel_factors(
                z_start,
                z_channel,
                corners,
                weights,
                entering,
                kept,
                valid,
                labels,
                highs,
                totals,
                products,
                kept_products,
                pulled,
                factor_on_all,
                coefficients,
                row,
                rows,
                KINDS,
                GAMMAS,
                TEMPERATURES,
                SIZES,
                KEPT_SIZES,
                SLOTS,
                TERMS,
                BESIDE,
                K,
                AXES,
                SIGMOID,
                SHARES,
                DTYPE,
            )
            g_first = g_start + (tl.full([], y_first, tl.int64) * g_middle + g_offsets)
            g_second = g_start + (tl.full([], y_second, tl.int64) * g_middle + g_offsets)
            for start in range(0, K, CHUNK):
                classes = start + tl.arange(0, CHUNK)[:, None]
                if SIGMOID:
                    written = owned & (classes == 1)
                    g_class = classes.to(tl.int64) * 0
                else:
                    written = owned & (classes < K)
                    g_class = classes * tl.full([], g_channel, tl.int64)
                into_first = written & (y_first + 0 * cell >= first_row)
                into_second = written & (y_second + 0 * cell < last_row) & (y_second + 0 * cell > y_first)
                before_first = read(g_first + g_class, into_first, False)
                before_second = read(g_second + g_class, into_second, False)
                sizes, kept_sizes, label_parts = chunk_slots(
                    coefficients, row, rows, classes, KINDS, SIZES, KEPT_SIZES, SLOTS, TERMS, K, SHARES
                )
                found = class_corners(z_start, z_channel, classes, corners, d_weights, K, CHUNK, SIGMOID, AXES, DTYPE)
                upper, lower = columns_of(found, near, far)
                up_left = tl.zeros([CHUNK, LANES], DTYPE)
                up_right = tl.zeros([CHUNK, LANES], DTYPE)
                down_left = tl.zeros([CHUNK, LANES], DTYPE)
                down_right = tl.zeros([CHUNK, LANES], DTYPE)
                for x in tl.static_range(COLUMNS):
                    column_up = tl.zeros([CHUNK, LANES], DTYPE)
                    column_down = tl.zeros([CHUNK, LANES], DTYPE)
                    for y in tl.static_range(LINES):
                        logit = tl.where(entering[y * COLUMNS + x], upper[x] * up[y] + lower[x] * down[y], 0.0)
                        shifted = below(logit, highs[y * COLUMNS + x])
                        value = tl.zeros([CHUNK, LANES], DTYPE)
                        for t in tl.static_range(T):
                            factor = factors[(y * COLUMNS + x) * T + t]
                            if SIZES[t] == 1:
                                factor = factor + scales[(y * COLUMNS + x) * T + t] * sizes[t]
                            if KEPT_SIZES[t] == 1:
                                factor = factor + kept_scales[(y * COLUMNS + x) * T + t] * kept_sizes[t]
                            value += tl.exp2(shifted * TEMPERATURES[t]) * factor
                        if len(KINDS) > 0:
                            if SHARES:
                                share = class_shares(
                                    y_start,
                                    y_channel,
                                    classes,
                                    places[y * COLUMNS + x],
                                    valid[y * COLUMNS + x],
                                    K,
                                    SIGMOID,
                                    DTYPE,
                                )
                                value -= factor_on_all * share_pull(
                                    share, label_parts, shifted, totals[(y * COLUMNS + x) * T], KINDS, GAMMAS
                                )
                            else:
                                value = tl.where(
                                    labels[y * COLUMNS + x] == classes, value - pulls[y * COLUMNS + x], value
                                )
                        value = tl.where(entering[y * COLUMNS + x], value, 0.0)
                        column_up += value * (1.0 - y_shares[y])
                        column_down += value * y_shares[y]
                    up_left += column_up * (1.0 - x_shares[x])
                    up_right += column_up * x_shares[x]
                    down_left += column_down * (1.0 - x_shares[x])
                    down_right += column_down * x_shares[x]
                first = gathered(up_left, up_right, taps)
                second = gathered(down_left, down_right, taps)
                write(g_first + g_class, before_first + first * plane_share, into_first, False)
                write(g_second + g_class, before_second + second * plane_share, into_second, False)
            tl.debug_barrier()  # the next rows read what these wrote
