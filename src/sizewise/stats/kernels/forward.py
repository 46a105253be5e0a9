"""The forward kernel: each program walks over tiles of one row and leaves one partial sum per field and class."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: SIM300

import triton
import triton.language as tl

from sizewise.stats.kernels.interpolation import corners_of, interpolated_classes
from sizewise.stats.kernels.neighbours import fold, pieces  # noqa: F401
from sizewise.stats.kernels.pixel_sums import add_pixels, focal_value  # noqa: F401
from sizewise.stats.kernels.reading import read, write
from sizewise.stats.kernels.tile import (
    are_shares,
    entering_shares,
    load_at_label,
    load_classes,
    pixel_offsets,
    row_start,
)
from sizewise.stats.kernels.words import load_words, unpacked_classes


@triton.jit
def partial_sums(
    logits,
    target,
    mask,
    workspace,
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
    depth,
    KINDS: tl.constexpr,
    PARAMETERS: tl.constexpr,
    GROUPS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    FIRSTS: tl.constexpr,
    BESIDES: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
    VECTOR: tl.constexpr,
    BYTES: tl.constexpr,
    RUNS: tl.constexpr,
    GATHERED: tl.constexpr,
    AXES: tl.constexpr,
    UPSAMPLED: tl.constexpr,
    CORNERS: tl.constexpr,
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
    """The fields come in groups of one softmax, see :class:`sizewise.stats.kernels.field_order.Sorted`.

    Of a tile of BLOCK pixels a thread holds VECTOR neighbours, and works on one after the other. It reads them as words
    of so many BYTES, or one by one if that is 0; RUNS says that the classes of these pixels lie in one line. GATHERED:
    the label's logit is read again rather than looked for among all.

    The workspace begins with one int64 for each program, 0 or what a bad target value is found by, then holds the
    partial sums as (fields, rows, K, programs). ``table`` and ``depth`` are for logits that are UPSAMPLED.
    """
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    z_start = row_start(logits, row, z_image, z_channel, channels, SIGMOID)
    y_start = row_start(target, row, y_image, y_channel, channels, SIGMOID)
    m_start = row_start(mask, row, m_image, m_channel, channels, SIGMOID)
    CHUNKS: tl.constexpr = (K + CHUNK - 1) // CHUNK
    PARTS: tl.constexpr = BLOCK // VECTOR
    OWN: tl.constexpr = FIRSTS[0] if len(FIRSTS) > 0 else len(KINDS)
    FIELDS: tl.constexpr = len(KINDS) - OWN
    STORED: tl.constexpr = logits.dtype.element_ty

    sums = ()
    for _f in tl.static_range(OWN):
        sums = sums + (tl.zeros([1, PARTS], DTYPE),)
    for _c in tl.static_range(CHUNKS * FIELDS):
        sums = sums + (tl.zeros([CHUNK, PARTS], DTYPE),)
    stray = tl.zeros([1, PARTS], tl.int64 if SHARES else LABEL)

    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tl.cdiv(pixels, BLOCK), programs):
        leading = tile * BLOCK + tl.arange(0, PARTS)[None, :] * VECTOR
        if BYTES > 0:
            leading_inside = tl.full([1, PARTS], 1, tl.int1) if EVEN else leading < pixels
            if RUNS:
                places = leading * K
            else:
                places = pixel_offsets(leading, width, height, z_outer, z_middle, z_inner, AXES)
            words = load_words(
                z_start, z_channel, places, leading_inside, 1 if SIGMOID else K, CHUNK, VECTOR, BYTES, RUNS, EVEN
            )
        for g in tl.static_range(VECTOR):
            pixel = leading + g
            inside = tl.full([1, PARTS], 1, tl.int1) if EVEN else pixel < pixels
            if UPSAMPLED:
                around = corners_of(
                    pixel, inside, table, width, height, depth, z_outer, z_middle, z_inner, AXES, CORNERS, DTYPE
                )
                logit = interpolated_classes(z_start, z_channel, around, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
            else:
                z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
                if BYTES > 0:
                    logit = unpacked_classes(words, g, K, CHUNK, VECTOR, RUNS, SIGMOID, STORED, DTYPE)
                else:
                    logit = load_classes(
                        z_start, z_channel, z_offsets, inside, -float("inf"), K, CHUNK, SIGMOID, DTYPE, True
                    )
            kept = inside
            if HAS_MASK:
                m_offsets = pixel_offsets(pixel, width, height, m_outer, m_middle, m_inner, AXES)
                kept = inside & (tl.load(m_start + m_offsets, mask=inside, other=0) != 0)
            valid = kept
            y_offsets = pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
            label_logit = inside
            if SHARES:
                share = load_classes(y_start, y_channel, y_offsets, inside, 0.0, K, CHUNK, SIGMOID, DTYPE, True)
                wrong = valid & ~are_shares(share, CHUNK, SIGMOID)
                stray = tl.where(wrong, row.to(tl.int64) * pixels + pixel + 1, stray)
                aim = entering_shares(share, valid, SIGMOID, HAS_MASK or (SIGMOID and not EVEN))
            else:
                label = read(y_start + y_offsets, inside, EVEN).to(LABEL)
                if HAS_IGNORE:
                    valid = kept & (label != ignore)
                known = (label >= 0) & (label < K)
                stray = tl.where(valid & ~known, label, stray)  # never 0, which is a label of every problem
                aim = tl.where(valid & known, label, -1).to(tl.int32)
                if GATHERED:
                    label_logit = load_at_label(z_start, z_channel, z_offsets, aim)
            sums = add_pixels(
                sums,
                logit,
                aim,
                label_logit,
                kept,
                valid,
                KINDS,
                PARAMETERS,
                TEMPERATURES,
                GROUPS,
                FIRSTS,
                BESIDES,
                CHUNK,
                SHARES,
                HAS_MASK or HAS_IGNORE,
                UNLABELLED,
                GATHERED,
                DTYPE,
            )

    highest = tl.max(tl.max(stray, axis=1), axis=0)
    lowest_stray = tl.min(tl.min(stray, axis=1), axis=0)
    found = tl.where(highest != 0, highest, lowest_stray).to(tl.int64)
    tl.store(workspace.to(tl.pointer_type(tl.int64)) + program, found)
    rows = tl.full([], rows, tl.int64)
    cells = rows * programs
    partials = workspace + (cells if DTYPE == tl.float64 else 2 * cells) + part
    for f in tl.static_range(len(KINDS)):
        place = (f * rows + row) * K
        if f < OWN:
            tl.store(partials + place * programs, tl.sum(tl.sum(sums[f], axis=1), axis=0))
        else:
            for c in tl.static_range(CHUNKS):
                total = tl.sum(sums[c * FIELDS + f], axis=1)
                if CHUNK == 1:
                    tl.store(partials + (place + c) * programs, tl.sum(total, axis=0))
                else:
                    classes = c * CHUNK + tl.arange(0, CHUNK)
                    write(partials + (place + classes) * programs, total, classes < K, False)
