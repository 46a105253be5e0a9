"""The backward kernel for labels that reads and writes words: one pixel of each thread after the other."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.pixel_gradient import load_slot
from sizewise.stats.kernels.pixel_values import gather_slots, pixel_values
from sizewise.stats.kernels.raw_access import read
from sizewise.stats.kernels.shifted_logits import load_at_label, load_one_by_one
from sizewise.stats.kernels.tile import pixel_offsets
from sizewise.stats.kernels.words import load_words, store_one_by_one, store_words, unpacked_classes


@triton.jit
def word_gradient(
    coefficients,
    upstream,
    logits,
    target,
    mask,
    gradient,
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
    RUNS: tl.constexpr,
):
    """As :func:`sizewise.stats.kernels.backward.gradient_tiles`; tiles are those of ``word_sums``.

    RUNS: the pixels of a thread with all their classes lie in one line; its words are turned around among the threads
    before they are written, so that neighbouring threads write neighbouring words.
    """
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    z_start = logits + row.to(tl.int64) * z_image
    y_start = target + row.to(tl.int64) * y_image
    m_start = mask + row.to(tl.int64) * m_image
    g_start = gradient + row.to(tl.int64) * g_image
    PARTS: tl.constexpr = BLOCK // VECTOR
    STORED: tl.constexpr = logits.dtype.element_ty
    FIRST_SIZE: tl.constexpr = len(KINDS)
    FIRST_KEPT: tl.constexpr = len(KINDS) + len(TEMPERATURES)

    own = coefficients + row.to(tl.int64) * K
    per_plane = tl.full([], rows, tl.int64) * K
    factors = coefficients + len(SLOTS) * per_plane
    size_parts = ()
    kept_parts = ()
    label_parts = ()
    for t in tl.static_range(len(TEMPERATURES)):
        size_parts = size_parts + (load_slot(own, per_plane, factors, FIRST_SIZE + t, SLOTS, TERMS, K, CHUNK),)
        kept_parts = kept_parts + (load_slot(own, per_plane, factors, FIRST_KEPT + t, SLOTS, TERMS, K, CHUNK),)
    if not GATHERED:
        for f in tl.static_range(len(KINDS)):
            label_parts = label_parts + (load_slot(own, per_plane, factors, f, SLOTS, TERMS, K, CHUNK),)
    parts = (label_parts, size_parts, kept_parts)
    factor_on_all = tl.load(upstream)

    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tl.cdiv(pixels, BLOCK), programs):
        leading = tile * BLOCK + tl.arange(0, PARTS)[None, :] * VECTOR
        if BYTES > 0:
            within = tl.full([1, PARTS], 1, tl.int1) if EVEN else leading < pixels
            if RUNS:
                places = leading * K
            else:
                places = pixel_offsets(leading, width, height, z_outer, z_middle, z_inner, AXES)
            words = load_words(z_start, z_channel, places, within, K, CHUNK, VECTOR, BYTES, RUNS, EVEN)
        gradients = ()
        for g in tl.static_range(VECTOR):
            pixel = leading + g
            inside = tl.full([1, PARTS], 1, tl.int1) if EVEN else pixel < pixels
            z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
            if BYTES > 0:
                logit = unpacked_classes(words, g, K, CHUNK, VECTOR, RUNS, STORED, DTYPE)
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
            label = tl.where(valid & (label >= 0) & (label < K), label, -1).to(tl.int32)
            label_logit = inside
            label_slots = ()
            if GATHERED:
                label_logit = load_at_label(z_start, z_channel, z_offsets, label)
                label_slots = gather_slots(coefficients, row, rows, label, KINDS, SLOTS, TERMS, K, DTYPE)
            values = pixel_values(
                logit,
                label,
                label_logit,
                label_slots,
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
                HAS_MASK or HAS_IGNORE,
                UNLABELLED,
                GATHERED,
                DTYPE,
            )
            if BYTES > 0:
                gradients = gradients + (values,)
            else:
                g_offsets = pixel_offsets(pixel, width, height, g_outer, g_middle, g_inner, AXES)
                store_one_by_one(g_start, g_channel, g_offsets, inside, values, K, CHUNK)
        if BYTES > 0:
            if not RUNS:
                places = pixel_offsets(leading, width, height, g_outer, g_middle, g_inner, AXES)
            store_words(g_start, g_channel, places, within, gradients, K, CHUNK, VECTOR, BYTES, RUNS, STORED, EVEN)
