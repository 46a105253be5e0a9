"""The forward kernel for labels that reads words: one pixel of each thread after the other, all its fields at once."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.pixel_sums import add_pixels
from sizewise.stats.kernels.raw_access import read, write
from sizewise.stats.kernels.shifted_logits import load_at_label, load_one_by_one
from sizewise.stats.kernels.tile import pixel_offsets
from sizewise.stats.kernels.words import load_words, unpacked_classes


@triton.jit
def word_sums(
    logits,
    target,
    mask,
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
    GATHERED: tl.constexpr,
    AXES: tl.constexpr,
    HAS_MASK: tl.constexpr,
    HAS_IGNORE: tl.constexpr,
    UNLABELLED: tl.constexpr,
    EVEN: tl.constexpr,
    WIDE: tl.constexpr,
    LABEL: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """As :func:`sizewise.stats.kernels.forward.partial_sums`, with the same workspace.

    The fields come in groups of one softmax, see :class:`sizewise.stats.kernels.field_order.Grouped`. Of a tile of
    BLOCK pixels a thread holds VECTOR neighbours, in words of so many BYTES, or one by one if that is 0. GATHERED: the
    label's logit is read again rather than looked for.
    """
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    z_start = logits + row.to(tl.int64) * z_image
    y_start = target + row.to(tl.int64) * y_image
    m_start = mask + row.to(tl.int64) * m_image
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
    stray = tl.zeros([1, PARTS], LABEL)

    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tl.cdiv(pixels, BLOCK), programs):
        leading = tile * BLOCK + tl.arange(0, PARTS)[None, :] * VECTOR
        if BYTES > 0:
            within = tl.full([1, PARTS], 1, tl.int1) if EVEN else leading < pixels
            places = pixel_offsets(leading, width, height, z_outer, z_middle, z_inner, AXES)
            words = load_words(z_start, z_channel, places, within, K, CHUNK, VECTOR, BYTES, False, EVEN)
        for g in tl.static_range(VECTOR):
            pixel = leading + g
            inside = tl.full([1, PARTS], 1, tl.int1) if EVEN else pixel < pixels
            z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
            if BYTES > 0:
                logit = unpacked_classes(words, g, K, CHUNK, VECTOR, False, STORED, DTYPE)
            else:
                logit = load_one_by_one(z_start, z_channel, z_offsets, inside, K, CHUNK, DTYPE, EVEN)
            kept = inside
            if HAS_MASK:
                m_offsets = pixel_offsets(pixel, width, height, m_outer, m_middle, m_inner, AXES)
                kept = inside & (tl.load(m_start + m_offsets, mask=inside, other=0) != 0)
            y_offsets = pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
            label = read(y_start + y_offsets, inside, EVEN).to(LABEL)
            valid = kept
            if HAS_IGNORE:
                valid = kept & (label != ignore)
            known = (label >= 0) & (label < K)
            stray = tl.where(valid & ~known, label, stray)  # never 0, which is a label of every problem
            label = tl.where(valid & known, label, -1).to(tl.int32)
            label_logit = inside
            if GATHERED:
                label_logit = load_at_label(z_start, z_channel, z_offsets, label)
            sums = add_pixels(
                sums,
                logit,
                label,
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
    partials = workspace + (cells if tl.float64 == DTYPE else 2 * cells) + part
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
