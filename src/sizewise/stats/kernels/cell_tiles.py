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

import triton
import triton.language as tl

from sizewise.stats.kernels.cell_image_sums import add_pixel, multiply_pixel, no_products, no_sums, store_sums
from sizewise.stats.kernels.cell_table import end_strip, leave_cells
from sizewise.stats.kernels.cell_tuples import apart, every, number_at
from sizewise.stats.kernels.cell_values import LARGEST_LOSS, anywhere, is_cell, pixel_value
from sizewise.stats.kernels.forward import pieces
from sizewise.stats.kernels.raw_access import read
from sizewise.stats.kernels.shifted_logits import load_one_by_one
from sizewise.stats.kernels.tile import (
    FOCAL,
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
    PLANES: tl.constexpr,
    STRANGE: tl.constexpr,
    CLASSES: tl.constexpr,
    IMAGE_KINDS: tl.constexpr,
    IMAGE_PARAMETERS: tl.constexpr,
    IMAGE_STARTS: tl.constexpr,
    PRODUCT: tl.constexpr,
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
    """``table`` is int64, (planes, images · most, channels, regions), and 0 at first; plane STRANGE counts NaNs.

    Field f is added to plane PLANES[f]. CLASSES[i] is the class of map i. A sigmoid channel has the map of its own
    number, which both its regions share. A pixel's neighbour below is ``period`` pixels on; that many are cut into
    ``strips`` of BLOCK lanes, and each program goes ``steps`` down. The workspace is that of the forward pass, for the
    fields of IMAGE_KINDS, whose sums start at IMAGE_STARTS among all; field PRODUCT, −log p, is kept as products, −1:
    none.
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
    RAW: tl.constexpr = VECTOR == 1 and not SIGMOID  # then a load has nothing to vectorise
    own = table + (image.to(tl.int64) * most - 1) * channels * REGIONS
    plane = tl.full([], per_plane, tl.int64)

    cells = ()
    kept = ()
    for _i in tl.static_range(len(CLASSES) * VECTOR):
        cells = cells + (tl.zeros([1, LANES], tl.int32),)
        for _f in tl.static_range(REGIONS * FIELDS):
            kept = kept + (tl.zeros([1, LANES], DTYPE),)
    sums = no_sums(IMAGE_KINDS, K, LANES, DTYPE)
    products = no_products(PRODUCT, K, LANES, DTYPE)
    stray = tl.zeros([1, LANES], tl.int64 if SHARES else LABEL)

    across = (part % strips) * BLOCK + tl.arange(0, BLOCK)[None, :]
    first = (part // strips) * steps
    for line in range(first, tl.minimum(first + steps, tl.cdiv(pixels, period))):
        pixel = (line.to(tl.int64) if WIDE else line) * period + across
        inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else (across < period) & (pixel < pixels)
        z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
        y_offsets = pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
        c_offsets = pixel_offsets(pixel, width, height, c_outer, c_middle, c_inner, AXES)
        if RAW:
            logit = load_one_by_one(z_start, z_channel, z_offsets, inside, K, 1, DTYPE, EVEN)
        else:
            logit = load_classes(z_start, z_channel, z_offsets, inside, 0.0, K, 1, SIGMOID, DTYPE)
        logits_of = apart(logit, VECTOR)
        here = ()
        for i in tl.static_range(len(CLASSES)):
            own_map = c_start + i * tl.full([], c_channel, tl.int64)
            if RAW:
                number = read(own_map + c_offsets, inside, EVEN)
            else:
                number = tl.load(own_map + c_offsets, mask=inside, other=0)
            here = here + (number.to(tl.int32),)
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

            sums = add_pixel(
                sums,
                shifted,
                e,
                total,
                share,
                label,
                valid,
                IMAGE_KINDS,
                IMAGE_PARAMETERS,
                IMAGE_STARTS,
                PRODUCT,
                K,
                HAS_MASK or HAS_IGNORE or not EVEN,
                SHARES,
                DTYPE,
            )
            products = multiply_pixel(products, total, label)
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
                own_cells = every(cells, i, len(CLASSES), 1)
                own_heres = every(new_cells, i, len(CLASSES), 1)
                own_kept = every(kept, i, len(CLASSES), REGIONS * FIELDS)
                start = own + column * REGIONS
                leave_cells(start, plane, own_cells, own_heres, own_kept, most, channels, KINDS, PLANES, REGIONS, BITS)
        if anywhere(odd > 0):  # rare, so the maps are read again rather than kept until here
            strange = ()
            for g in tl.static_range(VECTOR):
                valid = masked[g] > 0
                if HAS_IGNORE and not SHARES:
                    valid = valid & (labels[g] != ignore)
                _, total = exponentials(subtract_maximum(logits_of[g], valid, 1, True), 1.0, 1)
                strange = strange + (valid & (total != total),)
            for map_number in range(len(CLASSES)):
                its_class = row % channels if SIGMOID else number_at(CLASSES, map_number)
                its_map = c_start + map_number * tl.full([], c_channel, tl.int64)
                numbers_of = pieces(tl.load(its_map + c_offsets, mask=inside, other=0).to(tl.int32), VECTOR)
                for g in tl.static_range(VECTOR):
                    place = own + STRANGE * plane + (numbers_of[g] * channels + its_class) * REGIONS
                    for r in tl.static_range(REGIONS):
                        counted = strange[g] & is_cell(numbers_of[g], most)
                        tl.atomic_add(place + r, 1, mask=counted, sem="relaxed")
        cells = new_cells
        kept = new_kept

    for i in tl.static_range(len(CLASSES)):
        column = row % channels if SIGMOID else CLASSES[i]
        own_cells = every(cells, i, len(CLASSES), 1)
        own_kept = every(kept, i, len(CLASSES), REGIONS * FIELDS)
        end_strip(own + column * REGIONS, plane, own_cells, own_kept, most, channels, KINDS, PLANES, REGIONS, BITS)

    if len(IMAGE_KINDS) > 0:
        store_sums(
            workspace,
            sums,
            products,
            stray,
            program,
            row,
            part,
            rows,
            programs,
            IMAGE_KINDS,
            IMAGE_STARTS,
            PRODUCT,
            K,
            DTYPE,
        )
