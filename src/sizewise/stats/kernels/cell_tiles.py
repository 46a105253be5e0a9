"""The sums per cell: each program walks down a strip of pixels, and each lane keeps the sums of the cell it is in.

Cells are compact, so the pixel below mostly belongs to the cell of the pixel above. A lane adds up values while its
cell stays the same, and hands the sum on to the table where it changes. At the end of a strip many neighbouring lanes
are in one cell: with the running sum along the lanes, the last of them adds it to its own cell and takes it from the
next one, so that each cell keeps the sum of its runs. What reaches the table are integers, whose sum has no order:
fractions of 2^−32, and of 2^−20 for losses, which have no upper bound. What is not a number is counted in a plane of
its own. The sums of images, which a step also needs, are taken along the way.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: SIM300

import triton
import triton.language as tl

from sizewise.stats.kernels.cell_values import (
    LARGEST_LOSS,
    add_runs,
    anywhere,
    hand_on,
    is_cell,
    of_label,
    pixel_value,
    whole_number,
)
from sizewise.stats.kernels.forward import pieces
from sizewise.stats.kernels.tile import (
    FOCAL,
    PIXELS,
    exponentials,
    load_classes,
    pixel_offsets,
    row_start,
    subtract_maximum,
)


@triton.jit
def strange_shares(share, pixel, row, pixels, SIGMOID: tl.constexpr):
    """Where a target's shares are none, a number to find them again by; else 0."""
    if SIGMOID:
        wrong = ~((share[1] >= 0) & (share[1] <= 1))
    else:
        lowest = share[0]
        total = share[0]
        for c in tl.static_range(1, len(share)):
            lowest = tl.minimum(lowest, share[c])
            total = total + share[c]
        wrong = ~((tl.abs(total - 1) <= 1e-3) & (lowest >= 0))
    return tl.where(wrong, row.to(tl.int64) * pixels + pixel + 1, 0)


@triton.jit
def apart(values, VECTOR: tl.constexpr):
    """Tensors of BLOCK pixels as VECTOR tuples of tensors with a pixel for each lane."""
    found = ()
    for i in tl.static_range(len(values)):
        found = found + (pieces(values[i], VECTOR),)
    turned = ()
    for g in tl.static_range(VECTOR):
        one = ()
        for i in tl.static_range(len(values)):
            one = one + (found[i][g],)
        turned = turned + (one,)
    return turned


@triton.jit
def sums_of(kept, number: tl.constexpr, FIELDS: tl.constexpr):
    """One cell's sums among all that a lane keeps."""
    own = ()
    for f in tl.static_range(FIELDS):
        own = own + (kept[number * FIELDS + f],)
    return own


@triton.jit
def has_label(kept, KINDS: tl.constexpr):
    """Where a lane has a pixel of the class."""
    found = kept[0] < 0
    for f in tl.static_range(len(KINDS)):
        if of_label(KINDS[f]):
            found = found | (kept[f] > 0)
    return found


@triton.jit
def cell_tiles(
    logits,
    target,
    mask,
    maps,
    table,
    workspace,
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
    period,
    strips,
    steps,
    KINDS: tl.constexpr,
    PARAMETERS: tl.constexpr,
    CLASSES: tl.constexpr,
    IMAGE_KINDS: tl.constexpr,
    IMAGE_PARAMETERS: tl.constexpr,
    IMAGE_STARTS: tl.constexpr,
    BITS: tl.constexpr,
    K: tl.constexpr,
    BLOCK: tl.constexpr,
    VECTOR: tl.constexpr,
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

    CLASSES[i] is the class of map i. A sigmoid channel has the map of its own number, which both its regions share.
    A pixel's neighbour below is ``period`` pixels on; that many are cut into ``strips`` of BLOCK lanes, and each
    program goes ``steps`` down. The workspace is that of the forward pass, for the fields of IMAGE_KINDS, whose sums
    start at IMAGE_STARTS among all.
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
    FIELDS: tl.constexpr = len(KINDS)
    LANES: tl.constexpr = BLOCK // VECTOR
    own = table + (image.to(tl.int64) * most - 1) * channels * REGIONS
    plane = tl.full([], per_plane, tl.int64)

    cells = ()
    kept = ()
    for _i in tl.static_range(len(CLASSES) * VECTOR):
        cells = cells + (tl.zeros([1, LANES], tl.int32),)
        for _f in tl.static_range(REGIONS * FIELDS):
            kept = kept + (tl.zeros([1, LANES], DTYPE),)
    sums = ()
    for f in tl.static_range(len(IMAGE_KINDS)):
        for _c in tl.static_range(1 if IMAGE_KINDS[f] == PIXELS else K):
            sums = sums + (tl.zeros([1, LANES], DTYPE),)
    stray = tl.zeros([1, LANES], tl.int64 if SHARES else LABEL)

    across = (part % strips) * BLOCK + tl.arange(0, BLOCK)[None, :]
    first = (part // strips) * steps
    for line in range(first, tl.minimum(first + steps, tl.cdiv(pixels, period))):
        pixel = (line.to(tl.int64) if WIDE else line) * period + across
        inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else (across < period) & (pixel < pixels)
        z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
        y_offsets = pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
        c_offsets = pixel_offsets(pixel, width, height, c_outer, c_middle, c_inner, AXES)
        logits_of = apart(load_classes(z_start, z_channel, z_offsets, inside, 0.0, K, 1, SIGMOID, DTYPE), VECTOR)
        here = ()
        for i in tl.static_range(len(CLASSES)):
            own_map = c_start + i * tl.full([], c_channel, tl.int64)
            here = here + (tl.load(own_map + c_offsets, mask=inside, other=0).to(tl.int32),)
        heres = apart(here, VECTOR)
        kept_pixel = inside.to(tl.int32)
        if HAS_MASK:
            m_offsets = pixel_offsets(pixel, width, height, m_outer, m_middle, m_inner, AXES)
            kept_pixel = (inside & (tl.load(m_start + m_offsets, mask=inside, other=0) != 0)).to(tl.int32)
        masked = pieces(kept_pixel, VECTOR)
        if SHARES:
            shares_of = apart(load_classes(y_start, y_channel, y_offsets, inside, 0.0, K, 1, SIGMOID, DTYPE), VECTOR)
            numbers = pieces(pixel.to(tl.int64), VECTOR)
        else:
            labels = pieces(tl.load(y_start + y_offsets, mask=inside, other=0).to(LABEL), VECTOR)

        new_cells = ()
        new_kept = ()
        turned = tl.zeros([1, LANES], tl.int32)
        odd = tl.zeros([1, LANES], tl.int32)
        for g in tl.static_range(VECTOR):
            valid = masked[g] > 0
            if SHARES:
                share = shares_of[g]
                wrong = strange_shares(share, numbers[g], row, pixels, SIGMOID)
                stray = tl.where(valid & (wrong > 0), wrong, stray)
                if SIGMOID:
                    share = (1.0 - share[1], share[1])
                label = tl.zeros([1, LANES], tl.int32)
            else:
                share = ()
                if HAS_IGNORE:
                    valid = valid & (labels[g] != ignore)
                known = (labels[g] >= 0) & (labels[g] < K)
                stray = tl.where(valid & ~known, labels[g], stray)  # never 0, which is a label of every problem
                label = tl.where(valid & known, labels[g].to(tl.int32), -1)
            shifted = subtract_maximum(logits_of[g], valid, 1, HAS_MASK or HAS_IGNORE)
            e, total = exponentials(shifted, 1.0, 1)
            odd = odd | (valid & (total != total)).to(tl.int32)

            added = ()
            for f in tl.static_range(len(IMAGE_KINDS)):
                for c in tl.static_range(1 if IMAGE_KINDS[f] == PIXELS else K):
                    value = pixel_value(
                        shifted, e, total, share, label, c, IMAGE_KINDS[f], IMAGE_PARAMETERS[f], SHARES, DTYPE
                    )
                    if HAS_MASK or HAS_IGNORE or not EVEN:
                        value = tl.where(valid, value, 0.0)
                    added = added + (sums[IMAGE_STARTS[f] + c] + value,)
            sums = added
            for i in tl.static_range(len(CLASSES)):
                turns = heres[g][i] != cells[g * len(CLASSES) + i]
                turned = turned | turns.to(tl.int32)
                for r in tl.static_range(REGIONS):
                    for f in tl.static_range(FIELDS):
                        value = pixel_value(
                            shifted,
                            e,
                            total,
                            share,
                            label,
                            r if SIGMOID else CLASSES[i],
                            KINDS[f],
                            PARAMETERS[f],
                            SHARES,
                            DTYPE,
                        )
                        if KINDS[f] == FOCAL:
                            value = tl.minimum(value, LARGEST_LOSS)
                        if HAS_MASK or HAS_IGNORE:
                            value = tl.where(valid, value, 0.0)
                        before = kept[((g * len(CLASSES) + i) * REGIONS + r) * FIELDS + f]
                        new_kept = new_kept + (tl.where(turns, 0.0, before) + value,)
                new_cells = new_cells + (heres[g][i],)

        if anywhere(turned > 0):
            for i in tl.static_range(len(CLASSES)):
                column = row % channels if SIGMOID else CLASSES[i]
                left = tl.zeros([1, LANES], tl.int32)  # the cell that a thread's pixels leave: mostly one
                for g in tl.static_range(VECTOR):
                    cell = cells[g * len(CLASSES) + i]
                    left = tl.where((cell != heres[g][i]) & is_cell(cell, most) & (left == 0), cell, left)
                others = tl.zeros([1, LANES], tl.int32)
                for g in tl.static_range(VECTOR):
                    cell = cells[g * len(CLASSES) + i]
                    leaves = (cell != heres[g][i]) & is_cell(cell, most)
                    others = others | (leaves & (cell != left)).to(tl.int32)
                place = own + (left * channels + column) * REGIONS
                for r in tl.static_range(REGIONS):
                    gone = ()
                    for f in tl.static_range(FIELDS):
                        one = tl.zeros([1, LANES], DTYPE)
                        for g in tl.static_range(VECTOR):
                            cell = cells[g * len(CLASSES) + i]
                            leaves = (cell != heres[g][i]) & (cell == left)
                            one += tl.where(leaves, kept[((g * len(CLASSES) + i) * REGIONS + r) * FIELDS + f], 0.0)
                        gone = gone + (one,)
                    hand_on(place + r, plane, gone, left > 0, KINDS, False, BITS)
                    labelled = (left > 0) & has_label(gone, KINDS)
                    if anywhere(labelled):
                        hand_on(place + r, plane, gone, labelled, KINDS, True, BITS)
                if anywhere(others > 0):
                    for g in tl.static_range(VECTOR):
                        cell = cells[g * len(CLASSES) + i]
                        leaves = (cell != heres[g][i]) & (cell != left) & is_cell(cell, most)
                        place = own + (cell * channels + column) * REGIONS
                        for r in tl.static_range(REGIONS):
                            own_kept = sums_of(kept, (g * len(CLASSES) + i) * REGIONS + r, FIELDS)
                            hand_on(place + r, plane, own_kept, leaves, KINDS, False, BITS)
                            hand_on(place + r, plane, own_kept, leaves, KINDS, True, BITS)
        if anywhere(odd > 0):
            for g in tl.static_range(VECTOR):
                valid = masked[g] > 0
                if HAS_IGNORE and not SHARES:
                    valid = valid & (labels[g] != ignore)
                _, total = exponentials(subtract_maximum(logits_of[g], valid, 1, True), 1.0, 1)
                for i in tl.static_range(len(CLASSES)):
                    column = row % channels if SIGMOID else CLASSES[i]
                    strange = valid & (total != total) & is_cell(heres[g][i], most)
                    place = own + FIELDS * plane + (heres[g][i] * channels + column) * REGIONS
                    for r in tl.static_range(REGIONS):
                        tl.atomic_add(place + r, 1, mask=strange, sem="relaxed")
        cells = new_cells
        kept = new_kept

    lane = tl.arange(0, LANES)[None, :]
    for i in tl.static_range(len(CLASSES)):
        column = row % channels if SIGMOID else CLASSES[i]
        cell = cells[(VECTOR - 1) * len(CLASSES) + i]  # of the last neighbour in a thread; the others join it or go
        after = tl.gather(cell, tl.minimum(lane + 1, LANES - 1), 1)
        turns = cell != after
        ends = (turns | (lane == LANES - 1)) & is_cell(cell, most)
        gives = turns & is_cell(after, most)
        place = own + (cell * channels + column) * REGIONS
        next_place = own + (after * channels + column) * REGIONS
        for r in tl.static_range(REGIONS):
            for f in tl.static_range(FIELDS):
                whole = tl.zeros([1, LANES], tl.int64)
                for g in tl.static_range(VECTOR):
                    other = cells[g * len(CLASSES) + i]
                    one = whole_number(kept[((g * len(CLASSES) + i) * REGIONS + r) * FIELDS + f], KINDS[f], BITS)
                    if g < VECTOR - 1:
                        goes = (other != cell) & is_cell(other, most) & (one > 0)
                        other_place = own + (other * channels + column) * REGIONS + r
                        tl.atomic_add(other_place + f * plane, one, mask=goes, sem="relaxed")
                    whole += tl.where(other == cell, one, 0)
                whole = tl.where(is_cell(cell, most), whole, 0)
                if anywhere(whole > 0):
                    add_runs(place + f * plane + r, next_place + f * plane + r, whole, ends, gives)

    if len(IMAGE_KINDS) > 0:
        highest = tl.max(tl.max(stray, axis=1), axis=0)
        lowest = tl.min(tl.min(stray, axis=1), axis=0)
        tl.store(
            workspace.to(tl.pointer_type(tl.int64)) + program, tl.where(highest != 0, highest, lowest).to(tl.int64)
        )
        all_rows = tl.full([], rows, tl.int64)
        partials = workspace + all_rows * programs * (1 if DTYPE == tl.float64 else 2) + part
        for f in tl.static_range(len(IMAGE_KINDS)):
            for c in tl.static_range(1 if IMAGE_KINDS[f] == PIXELS else K):
                one = tl.sum(tl.sum(sums[IMAGE_STARTS[f] + c], axis=1), axis=0)
                tl.store(partials + ((f * all_rows + row) * K + c) * programs, one)
