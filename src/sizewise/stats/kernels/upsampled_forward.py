"""The forward kernel for logits smaller than the target: each thread takes the pixels between four cells."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: SIM300

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import LN_2, inverse_of, log2_of
from sizewise.stats.kernels.forward import focal_value
from sizewise.stats.kernels.piece_logits import (
    LOWEST,
    below,
    class_corners,
    columns_of,
    corners_at,
    label_logit,
    piece_at,
    pixels_of,
    raised,
    reading_weights,
    shrunk,
)
from sizewise.stats.kernels.piece_targets import class_shares, piece_labels, piece_masks, wrong_shares
from sizewise.stats.kernels.raw_access import read, write
from sizewise.stats.kernels.tile import COUNT, KEPT_SIZE, OVERLAP, PIXELS, SIZE, row_start


@triton.jit
def sums_of_pieces(
    logits,
    target,
    mask,
    workspace,
    x_table,
    y_table,
    d_table,
    programs,
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
    KINDS: tl.constexpr,
    PARAMETERS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    GROUPS: tl.constexpr,
    FIRSTS: tl.constexpr,
    BESIDES: tl.constexpr,
    SIZED: tl.constexpr,
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
    """A lane's piece has COLUMNS by LINES pixels. The fields are grouped as in the sums by words.

    SIZED: a field needs the softmax of every class. The workspace is that of
    :func:`sizewise.stats.kernels.forward.partial_sums`; a program adds to its own sums there tile by tile.
    """
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    z_start = row_start(logits, row, z_image, z_channel, channels, SIGMOID)
    y_start = row_start(target, row, y_image, y_channel, channels, SIGMOID)
    m_start = row_start(mask, row, m_image, m_channel, channels, SIGMOID)
    OWN: tl.constexpr = FIRSTS[0] if len(FIRSTS) > 0 else len(KINDS)
    G: tl.constexpr = len(TEMPERATURES)
    own_sums = ()
    for _f in tl.static_range(OWN):
        own_sums = own_sums + (tl.zeros([1, LANES], DTYPE),)
    stray = tl.zeros([1, LANES], tl.int64 if SHARES else LABEL)
    wide_rows = tl.full([], rows, tl.int64)
    cells = wide_rows * programs
    partials = workspace + (cells if DTYPE == tl.float64 else 2 * cells) + part
    x_rests = x_table + 4 * x_pieces + small_width + 1
    y_rests = y_table + 4 * y_pieces + small_height + 1
    d_rests = d_table + 4 * d_pieces + small_depth + 1
    units = x_pieces * y_pieces * d_pieces
    for tile in range(part, tl.cdiv(units, LANES), programs):
        unit = tile * LANES + tl.arange(0, LANES)[None, :]
        inside = unit < units
        unit = tl.minimum(unit, units - 1)
        line = unit // x_pieces
        x_begin, x_end, x_first, x_second = piece_at(x_table, x_pieces, unit % x_pieces)
        y_begin, y_end, y_first, y_second = piece_at(y_table, y_pieces, line % y_pieces)
        plane, _end, d_first, d_second = piece_at(d_table, d_pieces, line // y_pieces)
        xs, x_there, x_shares = pixels_of(x_rests, x_begin, x_end, width, COLUMNS, CORNERS, DTYPE)
        ys, y_there, y_shares = pixels_of(y_rests, y_begin, y_end, height, LINES, CORNERS, DTYPE)
        _places, _there, d_shares = pixels_of(d_rests, plane, plane + 1, depth, 1, CORNERS, DTYPE)
        near, far = reading_weights(x_shares)
        up, down = reading_weights(y_shares)
        front, back = reading_weights(d_shares)
        d_weights = (front[0], back[0])
        corners = corners_at(x_first, x_second, y_first, y_second, d_first, d_second, z_outer, z_middle, z_inner, AXES)
        kept = piece_masks(m_start, inside, xs, x_there, ys, y_there, plane, m_outer, m_middle, m_inner, HAS_MASK)
        if SHARES:
            valid = kept
            labels = kept  # there are none
            wrong = wrong_shares(
                y_start, y_channel, valid, xs, ys, plane, y_outer, y_middle, y_inner, K, CHUNK, SIGMOID, DTYPE
            )
        else:
            labels, valid, odd = piece_labels(
                y_start, kept, xs, ys, plane, ignore, y_outer, y_middle, y_inner, K, HAS_IGNORE, LABEL
            )
        for i in tl.static_range(LINES * COLUMNS):
            if SHARES:
                pixel = (plane.to(tl.int64) * height + ys[i // COLUMNS]) * width + xs[i % COLUMNS]
                pixels = tl.full([], depth, tl.int64) * height * width
                stray = tl.where(wrong[i], row.to(tl.int64) * pixels + pixel + 1, stray)
            else:
                stray = tl.where(odd[i] != 0, odd[i], stray)
        entering = kept if UNLABELLED else valid
        grown = ()
        for f in tl.static_range(OWN):
            counted = own_sums[f]
            for i in tl.static_range(LINES * COLUMNS):
                counted += (valid[i] if KINDS[f] == PIXELS else kept[i]).to(DTYPE)
            grown = grown + (counted,)
        own_sums = grown

        # the first turn: the maximum, and for each temperature the sum of exponentials
        highs = ()
        totals = ()
        for _i in tl.static_range(LINES * COLUMNS):
            highs = highs + (tl.full([1, LANES], LOWEST, DTYPE),)
            for _g in tl.static_range(G):
                totals = totals + (tl.zeros([1, LANES], DTYPE),)
        if G > 0 and (G > 1 or TEMPERATURES[0] > 0):
            for start in range(0, K, CHUNK):
                classes = start + tl.arange(0, CHUNK)[:, None]
                found = class_corners(z_start, z_channel, classes, corners, d_weights, K, CHUNK, SIGMOID, AXES, DTYPE)
                upper, lower = columns_of(found, near, far)
                new_highs = ()
                new_totals = ()
                for i in tl.static_range(LINES * COLUMNS):
                    logit = upper[i % COLUMNS] * up[i // COLUMNS] + lower[i % COLUMNS] * down[i // COLUMNS]
                    logit = tl.where(entering[i], logit, 0.0)
                    high = raised(highs[i], logit)
                    x = below(logit, high)
                    new_highs = new_highs + (high,)
                    for g in tl.static_range(G):
                        total = totals[i * G + g]
                        if TEMPERATURES[g] > 0:
                            e = tl.exp2(x * TEMPERATURES[g])
                            if BESIDES[g] and not SHARES:
                                e = tl.where(labels[i] == classes, 0.0, e)
                            total = total * shrunk(highs[i], high, TEMPERATURES[g]) + tl.sum(e, axis=0, keep_dims=True)
                        new_totals = new_totals + (total,)
                highs = new_highs
                totals = new_totals

        # what each pixel adds: its label's fields, and 1 / Σ e
        values = ()
        inverses = ()
        logs = ()
        for i in tl.static_range(LINES * COLUMNS):
            for g in tl.static_range(G):
                total = totals[i * G + g]
                if TEMPERATURES[g] == 1.0 and not SHARES:
                    own = label_logit(
                        z_start,
                        z_channel,
                        labels[i],
                        corners,
                        d_weights,
                        near[i % COLUMNS],
                        far[i % COLUMNS],
                        up[i // COLUMNS],
                        down[i // COLUMNS],
                        SIGMOID,
                        AXES,
                        DTYPE,
                    )
                    label_x = below(tl.where(entering[i], own, 0.0), highs[i])
                    label_e = tl.where(labels[i] >= 0, tl.exp2(label_x), 0.0)
                    if BESIDES[g]:
                        rest = total
                        total = rest + label_e
                if TEMPERATURES[g] > 0:
                    inverse = inverse_of(total)
                    inverses = inverses + (inverse,)
                    logs = logs + (log2_of(total),)
                else:
                    inverses = inverses + (total,)
                    logs = logs + (total,)
                if not SHARES:
                    for f in tl.static_range(OWN, len(KINDS)):
                        if GROUPS[f] == g:
                            if KINDS[f] == OVERLAP:
                                value = label_e * inverse
                            elif KINDS[f] == COUNT or KINDS[f] == SIZE or KINDS[f] == KEPT_SIZE:
                                value = tl.full([1, LANES], 1.0, DTYPE)
                            else:
                                value = (logs[i * G + g] - label_x) * LN_2
                                if PARAMETERS[f] != 0.0:
                                    value = focal_value(value, rest * inverse, PARAMETERS[f])
                            values = values + (value,)

        # the second turn: class by class over all pixels
        FIELDS: tl.constexpr = len(KINDS) - OWN
        for start in range(0, K if FIELDS > 0 else 0, CHUNK):
            classes = start + tl.arange(0, CHUNK)[:, None]
            known = classes < K
            if SIZED:
                found = class_corners(z_start, z_channel, classes, corners, d_weights, K, CHUNK, SIGMOID, AXES, DTYPE)
                upper, lower = columns_of(found, near, far)
            added = ()
            for _f in tl.static_range(FIELDS):
                added = added + (tl.zeros([CHUNK, LANES], DTYPE),)
            for i in tl.static_range(LINES * COLUMNS):
                if SIZED:
                    logit = upper[i % COLUMNS] * up[i // COLUMNS] + lower[i % COLUMNS] * down[i // COLUMNS]
                    x = below(tl.where(entering[i], logit, 0.0), highs[i])
                if SHARES:
                    y_line = plane.to(tl.int64) * y_outer + ys[i // COLUMNS].to(tl.int64) * y_middle
                    places = y_line + xs[i % COLUMNS].to(tl.int64) * y_inner
                    share = class_shares(y_start, y_channel, classes, places, valid[i], K, SIGMOID, DTYPE)
                else:
                    hit = labels[i] == classes
                more = ()
                for f in tl.static_range(OWN, len(KINDS)):
                    before = added[f - OWN]
                    if KINDS[f] == SIZE or KINDS[f] == KEPT_SIZE:
                        weight = tl.where(valid[i] if KINDS[f] == SIZE else kept[i], inverses[i * G + GROUPS[f]], 0.0)
                        after = before + tl.exp2(x * TEMPERATURES[GROUPS[f]]) * weight
                    elif not SHARES:  # adding under a condition takes one predicated operation
                        after = tl.where(hit, before + values[i * FIELDS + f - OWN], before)
                    elif KINDS[f] == COUNT:
                        after = before + share
                    elif KINDS[f] == OVERLAP:
                        after = before + tl.minimum(tl.exp2(x) * inverses[i * G + GROUPS[f]], share)
                    else:
                        minus_log = (logs[i * G + GROUPS[f]] - x) * LN_2
                        rest = tl.maximum(1.0 - tl.exp2(x) * inverses[i * G + GROUPS[f]], 0.0)
                        one = focal_value(minus_log, rest, PARAMETERS[f]) * share
                        after = before + tl.where(share > 0, one, 0.0)  # 0 · log 0 = 0
                    more = more + (after,)
                added = more
            for f in tl.static_range(FIELDS):
                place = partials + (((OWN + f) * wide_rows + row) * K + classes) * programs
                before = read(place, known & (tile + 0 * classes > part), False)
                write(place, before + tl.sum(added[f], axis=1, keep_dims=True), known, False)
        tl.debug_barrier()  # the next tile reads what one thread wrote for all

    highest = tl.max(tl.max(stray, axis=1), axis=0)
    lowest = tl.min(tl.min(stray, axis=1), axis=0)
    bad = tl.where(highest != 0, highest, lowest).to(tl.int64)
    tl.store(workspace.to(tl.pointer_type(tl.int64)) + program, bad)
    for f in tl.static_range(OWN):
        tl.store(partials + (f * wide_rows + row) * K * programs, tl.sum(tl.sum(own_sums[f], axis=1), axis=0))
