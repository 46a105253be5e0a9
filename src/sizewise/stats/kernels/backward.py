"""The backward kernel: reads logits and target once more, and writes the gradient of the weighted sums."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.pixel_gradient import class_gradient, load_slots, pixel_parts
from sizewise.stats.kernels.tile import load_classes, pixel_offsets, row_start, subtract_maximum


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
    per_class = tl.full([], g_channel, tl.int64)
    CHUNKS: tl.constexpr = (K + CHUNK - 1) // CHUNK

    parts = load_slots(coefficients, row, rows, KINDS, TEMPERATURES, SLOTS, TERMS, K, CHUNK)
    factor_on_all = tl.load(upstream)

    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tl.cdiv(pixels, BLOCK), programs):
        pixel = tile * BLOCK + tl.arange(0, BLOCK)[None, :]
        inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else pixel < pixels
        z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
        y_offsets = pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
        logit = load_classes(z_start, z_channel, z_offsets, inside, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
        kept = inside
        if HAS_MASK:
            m_offsets = pixel_offsets(pixel, width, height, m_outer, m_middle, m_inner, AXES)
            kept = inside & (tl.load(m_start + m_offsets, mask=inside, other=0) != 0)
        valid = kept
        if SHARES:
            share = load_classes(y_start, y_channel, y_offsets, inside, 0.0, K, CHUNK, SIGMOID, DTYPE)
            if SIGMOID:
                share = (1.0 - share[1], share[1])
            if HAS_MASK or (SIGMOID and not EVEN):  # 1 − 0 is not 0 at pixels outside
                chosen = ()
                for c in tl.static_range(CHUNKS):
                    chosen = chosen + (tl.where(valid, share[c], 0.0),)
                share = chosen
        else:
            label = tl.load(y_start + y_offsets, mask=inside, other=0).to(LABEL)
            if HAS_IGNORE:
                valid = kept & (label != ignore)
            label = tl.where(valid & (label >= 0) & (label < K), label, -1).to(tl.int32)
        entering = kept if UNLABELLED else valid
        shifted = subtract_maximum(logit, entering, CHUNK, HAS_MASK or HAS_IGNORE)

        found = pixel_parts(
            shifted,
            share if SHARES else label,
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
        g_offsets = pixel_offsets(pixel, width, height, g_outer, g_middle, g_inner, AXES)
        for c in tl.static_range(CHUNKS):
            value = class_gradient(
                found,
                share if SHARES else label,
                entering,
                parts,
                c,
                SIZES,
                KEPT_SIZES,
                CHUNK,
                SHARES,
                HAS_MASK or HAS_IGNORE,
            )
            if SIGMOID:
                if c == 1:
                    tl.store(g_start + g_offsets, value.to(gradient.dtype.element_ty), mask=inside)
            elif CHUNK == 1:
                tl.store(g_start + c * per_class + g_offsets, value.to(gradient.dtype.element_ty), mask=inside)
            else:
                classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
                stored = inside if (c + 1) * CHUNK <= K else inside & (classes < K)
                tl.store(g_start + classes * per_class + g_offsets, value.to(gradient.dtype.element_ty), mask=stored)
