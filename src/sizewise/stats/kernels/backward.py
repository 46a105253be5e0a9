"""The backward kernel: reads logits and target once more, and writes the gradient of the weighted sums."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.pixel_gradient import gather_slots, load_slots, pixels_gradient
from sizewise.stats.kernels.reading import read
from sizewise.stats.kernels.tile import (
    entering_shares,
    load_at_label,
    load_classes,
    pixel_offsets,
    row_start,
    store_classes,
)
from sizewise.stats.kernels.words import load_words, store_words, unpacked_classes


@triton.jit
def gradient_tiles(
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
    RUNS: tl.constexpr,
    GATHERED: tl.constexpr,
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
    """KINDS and GAMMAS are the label's fields; they need τ = 1, the first. SIZES and KEPT_SIZES say where sizes are.

    ``coefficients`` is ∂term/∂field as (planes, rows, K), followed by ∂L/∂term of each term; ``upstream`` is
    ∂(final loss)/∂L, which comes last: its product with a coefficient may be larger than a float. SLOTS and TERMS say
    for each plane which field and which term it belongs to. The mathematics is in :mod:`pixel_gradient`.
    """
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    z_start = row_start(logits, row, z_image, z_channel, channels, SIGMOID)
    y_start = row_start(target, row, y_image, y_channel, channels, SIGMOID)
    m_start = row_start(mask, row, m_image, m_channel, channels, SIGMOID)
    g_start = row_start(gradient, row, g_image, g_channel, channels, SIGMOID)
    PARTS: tl.constexpr = BLOCK // VECTOR
    LOADED: tl.constexpr = 1 if SIGMOID else K
    STORED: tl.constexpr = logits.dtype.element_ty

    parts = load_slots(coefficients, row, rows, KINDS, TEMPERATURES, SLOTS, TERMS, K, CHUNK, GATHERED)
    factor_on_all = tl.load(upstream)

    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tl.cdiv(pixels, BLOCK), programs):
        leading = tile * BLOCK + tl.arange(0, PARTS)[None, :] * VECTOR
        if BYTES > 0:
            leading_inside = tl.full([1, PARTS], 1, tl.int1) if EVEN else leading < pixels
            if RUNS:
                places = leading * K
            else:
                places = pixel_offsets(leading, width, height, z_outer, z_middle, z_inner, AXES)
            words = load_words(z_start, z_channel, places, leading_inside, LOADED, CHUNK, VECTOR, BYTES, RUNS, EVEN)
        gradients = ()
        for g in tl.static_range(VECTOR):
            pixel = leading + g
            inside = tl.full([1, PARTS], 1, tl.int1) if EVEN else pixel < pixels
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
            label_slots = ()
            if SHARES:
                share = load_classes(y_start, y_channel, y_offsets, inside, 0.0, K, CHUNK, SIGMOID, DTYPE, True)
                aim = entering_shares(share, valid, SIGMOID, HAS_MASK or (SIGMOID and not EVEN))
            else:
                label = read(y_start + y_offsets, inside, EVEN).to(LABEL)
                if HAS_IGNORE:
                    valid = kept & (label != ignore)
                aim = tl.where(valid & (label >= 0) & (label < K), label, -1).to(tl.int32)
                if GATHERED:
                    label_logit = load_at_label(z_start, z_channel, z_offsets, aim)
                    label_slots = gather_slots(coefficients, row, rows, aim, KINDS, SLOTS, TERMS, K, DTYPE)
            own = pixels_gradient(
                logit,
                aim,
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
                SHARES,
                HAS_MASK or HAS_IGNORE,
                UNLABELLED,
                GATHERED,
                SIGMOID,
                DTYPE,
            )
            gradients = gradients + (own,)
            if BYTES == 0:
                g_offsets = pixel_offsets(pixel, width, height, g_outer, g_middle, g_inner, AXES)
                store_classes(g_start, g_channel, g_offsets, inside, own, LOADED, CHUNK)
        if BYTES > 0:
            if not RUNS:
                places = pixel_offsets(leading, width, height, g_outer, g_middle, g_inner, AXES)
            store_words(
                g_start, g_channel, places, leading_inside, gradients, LOADED, CHUNK, VECTOR, BYTES, RUNS, STORED, EVEN
            )
