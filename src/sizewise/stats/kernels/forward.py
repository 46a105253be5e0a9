"""The forward kernel: each program walks over tiles of one row and leaves one partial sum per field and class."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505, SIM300

import triton
import triton.language as tl

from sizewise.stats.kernels.interpolation import corners_of, interpolated_classes
from sizewise.stats.kernels.pieces import load_runs, pieces, pieces_of_classes
from sizewise.stats.kernels.pixel_sums import add_pixels, focal_value  # noqa: F401
from sizewise.stats.kernels.tile import load_classes, pixel_offsets, row_start, sum_classes


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
    PIECES: tl.constexpr,
    VECTOR: tl.constexpr,
    RUN: tl.constexpr,
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
    WHOLE: tl.constexpr,
    WIDE: tl.constexpr,
    LABEL: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The fields come in groups of one softmax, see :class:`sizewise.stats.kernels.field_order.Sorted`.

    A tile of BLOCK pixels is worked on as PIECES tiles, of which each thread holds VECTOR neighbours. RUN is how many
    values to read at a time where the pixels lie in one line with their classes, else 0. GATHERED: the label's logit
    is read again rather than looked for among all.

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
    PARTS: tl.constexpr = BLOCK // (PIECES * VECTOR)
    OWN: tl.constexpr = FIRSTS[0] if len(FIRSTS) > 0 else len(KINDS)
    FIELDS: tl.constexpr = len(KINDS) - OWN
    STORED: tl.constexpr = logits.dtype.element_ty

    sums = ()
    for _f in tl.static_range(OWN):
        sums = sums + (tl.zeros([1, PARTS], DTYPE),)
    for _c in tl.static_range(CHUNKS * FIELDS):
        sums = sums + (tl.zeros([CHUNK, PARTS], DTYPE),)
    stray = tl.zeros([1, BLOCK], tl.int64 if SHARES else LABEL)

    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tl.cdiv(pixels, BLOCK), programs):
        pixel = tile * BLOCK + tl.arange(0, BLOCK)[None, :]
        inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else pixel < pixels
        y_offsets = pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
        if UPSAMPLED:
            around = corners_of(
                pixel, inside, table, width, height, depth, z_outer, z_middle, z_inner, AXES, CORNERS, DTYPE
            )
            logit = interpolated_classes(z_start, z_channel, around, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
            logit = pieces_of_classes(logit, PIECES)
        else:
            z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
            if RUN > 0:
                logit = load_runs(z_start, tile, pixels, K, BLOCK, PIECES, RUN, EVEN, WHOLE)
            else:
                logit = load_classes(z_start, z_channel, z_offsets, inside, -float("inf"), K, CHUNK, SIGMOID, STORED)
                logit = pieces_of_classes(logit, PIECES)
        kept = inside
        if HAS_MASK:
            m_offsets = pixel_offsets(pixel, width, height, m_outer, m_middle, m_inner, AXES)
            kept = inside & (tl.load(m_start + m_offsets, mask=inside, other=0) != 0)
        valid = kept
        if SHARES:
            share = load_classes(y_start, y_channel, y_offsets, inside, 0.0, K, CHUNK, SIGMOID, DTYPE)
            if SIGMOID:
                wrong = valid & ~((share[1] >= 0) & (share[1] <= 1))
                share = (1.0 - share[1], share[1])
            else:
                lowest = share[0]
                total_share = share[0]
                for c in tl.static_range(1, CHUNKS):
                    lowest = tl.minimum(lowest, share[c])
                    total_share = total_share + share[c]
                lowest = lowest if CHUNK == 1 else tl.min(lowest, axis=0, keep_dims=True)
                total_share = sum_classes(total_share, CHUNK)
                wrong = valid & ~((tl.abs(total_share - 1) <= 1e-3) & (lowest >= 0))
            stray = tl.where(wrong, row.to(tl.int64) * pixels + pixel + 1, stray)
            if HAS_MASK or (SIGMOID and not EVEN):  # 1 − 0 is not 0 at pixels outside
                chosen = ()
                for c in tl.static_range(CHUNKS):
                    chosen = chosen + (tl.where(valid, share[c], 0.0),)
                share = chosen
        else:
            label = tl.load(y_start + y_offsets, mask=inside, other=0).to(LABEL)
            if HAS_IGNORE:
                valid = kept & (label != ignore)
            known = (label >= 0) & (label < K)
            stray = tl.where(valid & ~known, label, stray)  # never 0, which is a label of every problem
            label = tl.where(valid & known, label, -1).to(tl.int32)
        label_logits = pieces(inside, PIECES)
        if GATHERED:
            place = tl.maximum(label, 0) * tl.full([], z_channel, tl.int64)
            label_logits = pieces(tl.load(z_start + place + z_offsets, mask=inside, other=0.0), PIECES)
        if SHARES:
            targets = pieces_of_classes(share, PIECES)
        else:
            targets = pieces(label, PIECES)
        kept = pieces(kept, PIECES)
        valid = pieces(valid, PIECES)
        for g in tl.static_range(PIECES):
            sums = add_pixels(
                sums,
                logit[g],
                targets[g],
                label_logits[g],
                kept[g],
                valid[g],
                KINDS,
                PARAMETERS,
                TEMPERATURES,
                GROUPS,
                FIRSTS,
                BESIDES,
                CHUNK,
                VECTOR,
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
                classes = c * CHUNK + tl.arange(0, CHUNK)
                total = tl.sum(sums[c * FIELDS + f], axis=1)
                tl.store(partials + (place + classes) * programs, total, mask=classes < K)
