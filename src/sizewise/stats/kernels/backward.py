"""The backward kernel: reads logits and target once more, and writes the gradient of the weighted sums."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.tile import (
    LN_2,
    LOG2_E,
    OVERLAP,
    at_label,
    beside_label,
    class_numbers,
    exponentials,
    load_classes,
    minus_log_over_rest,
    pixel_offsets,
    rest_power,
    row_start,
    subtract_maximum,
    sum_classes,
)


@triton.jit
def focal_slope(minus_log, rest, p, GAMMA: tl.constexpr):
    """(1−p)^γ [1 + γ p (−log p)/(1−p)]: what the focal weight makes of the gradient of −log p."""
    return rest_power(rest, GAMMA) * (1.0 + GAMMA * p * minus_log_over_rest(minus_log, rest))


@triton.jit
def load_slot(
    own,
    per_plane,
    factors,
    SLOT: tl.constexpr,
    SLOTS: tl.constexpr,
    TERMS: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """∂L/∂field of one row, as a tuple of values that broadcast over (CHUNK, BLOCK); empty for a field not there.

    It is the sum over the field's planes of ∂L/∂term · ∂term/∂field.
    """
    chunks = ()
    for p in tl.static_range(len(SLOTS)):
        if SLOTS[p] == SLOT:
            factor = tl.load(factors + TERMS[p])
            added = ()
            for c in tl.static_range((K + CHUNK - 1) // CHUNK):
                if CHUNK == 1:
                    value = tl.load(own + p * per_plane + c) * factor
                else:
                    classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
                    value = tl.load(own + p * per_plane + classes, mask=classes < K, other=0.0) * factor
                if len(chunks) > 0:
                    value += chunks[c]
                added = added + (value,)
            chunks = added
    return chunks


@triton.jit
def weighted_sum(weights, chunks, CHUNK: tl.constexpr):
    """Σ_k weights_k · values_k, (1, BLOCK)."""
    result = weights[0] * chunks[0]
    for c in tl.static_range(1, len(chunks)):
        result += weights[c] * chunks[c]
    return sum_classes(result, CHUNK)


@triton.jit
def share_pulls(share, parts, shifted, e, total, factor, KINDS: tl.constexpr, GAMMAS: tl.constexpr):
    """q_ik of probability targets for each class, with the share of the class and ``factor`` included."""
    inverse = 1.0 / total
    pulls = ()
    for c in tl.static_range(len(share)):
        p = e[c] * inverse
        pull = tl.zeros_like(p)
        for f in tl.static_range(len(KINDS)):
            if KINDS[f] == OVERLAP:
                pull += tl.where(p < share[c], -p * parts[f][c], 0.0)
            elif GAMMAS[f] == 0.0:
                pull += share[c] * parts[f][c]
            else:
                minus_log = (tl.log2(total) - shifted[c]) * LN_2
                slope = focal_slope(minus_log, tl.maximum(1.0 - p, 0.0), p, GAMMAS[f])
                pull += tl.where(share[c] > 0, share[c] * parts[f][c] * slope, 0.0)
        pulls = pulls + (pull * factor,)
    return pulls


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
    for each plane which field and which term it belongs to.

    A label's field pulls with q_i (p_ij − y_ij), a size with τ s_ij (c_j − Σ_l c_l s_il): together Σ over τ of
    e_ij · factor, less q_i at the label.
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

    own = coefficients + row.to(tl.int64) * K
    per_plane = tl.full([], rows, tl.int64) * K
    factors = coefficients + len(SLOTS) * per_plane
    FIRST_SIZE: tl.constexpr = len(KINDS)
    FIRST_KEPT: tl.constexpr = len(KINDS) + len(TEMPERATURES)
    size_parts = ()
    kept_parts = ()
    for t in tl.static_range(len(TEMPERATURES)):
        size_parts = size_parts + (load_slot(own, per_plane, factors, FIRST_SIZE + t, SLOTS, TERMS, K, CHUNK),)
        kept_parts = kept_parts + (load_slot(own, per_plane, factors, FIRST_KEPT + t, SLOTS, TERMS, K, CHUNK),)
    label_parts = ()
    for f in tl.static_range(len(KINDS)):
        label_parts = label_parts + (load_slot(own, per_plane, factors, f, SLOTS, TERMS, K, CHUNK),)

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

        softmaxes = ()
        scales = ()
        kept_scales = ()
        pixel_parts = ()
        for t in tl.static_range(len(TEMPERATURES)):
            e, total = exponentials(shifted, TEMPERATURES[t], CHUNK)
            inverse = 1.0 / total
            scale = tl.where(valid, inverse * (TEMPERATURES[t] * factor_on_all), 0.0)
            kept_scale = tl.where(kept, inverse * (TEMPERATURES[t] * factor_on_all), 0.0)
            pixel_part = tl.zeros([1, BLOCK], DTYPE)
            if SIZES[t] == 1:
                pixel_part -= scale * inverse * weighted_sum(size_parts[t], e, CHUNK)
            if KEPT_SIZES[t] == 1:
                pixel_part -= kept_scale * inverse * weighted_sum(kept_parts[t], e, CHUNK)
            if t == 0 and len(KINDS) > 0:
                if SHARES:
                    pulls = share_pulls(share, label_parts, shifted, e, total, factor_on_all, KINDS, GAMMAS)
                    whole = pulls[0]
                    for c in tl.static_range(1, CHUNKS):
                        whole = whole + pulls[c]
                    pixel_part += sum_classes(whole, CHUNK) * inverse
                else:
                    pull = tl.zeros([1, BLOCK], DTYPE)
                    for f in tl.static_range(len(KINDS)):
                        one = at_label(label_parts[f], label, CHUNK)
                        if KINDS[f] == OVERLAP or GAMMAS[f] != 0.0:
                            minus_log = (tl.log2(total) - at_label(shifted, label, CHUNK)) * LN_2
                            p = tl.exp2(minus_log * -LOG2_E)
                            if KINDS[f] == OVERLAP:
                                one = -one * p
                            else:
                                rest = beside_label(e, label, CHUNK) * inverse
                                one = one * focal_slope(minus_log, rest, p, GAMMAS[f])
                        pull += one
                    pull *= factor_on_all
                    pixel_part += pull * inverse
            softmaxes = softmaxes + (e,)
            scales = scales + (scale,)
            kept_scales = kept_scales + (kept_scale,)
            pixel_parts = pixel_parts + (pixel_part,)

        g_offsets = pixel_offsets(pixel, width, height, g_outer, g_middle, g_inner, AXES)
        for c in tl.static_range(CHUNKS):
            value = tl.zeros([CHUNK, BLOCK], DTYPE)
            for t in tl.static_range(len(TEMPERATURES)):
                factor = pixel_parts[t]
                if SIZES[t] == 1:
                    factor = factor + scales[t] * size_parts[t][c]
                if KEPT_SIZES[t] == 1:
                    factor = factor + kept_scales[t] * kept_parts[t][c]
                value += softmaxes[t][c] * factor
            if len(KINDS) > 0:
                if SHARES:
                    value -= pulls[c]
                else:
                    value = tl.where(label == class_numbers(c, CHUNK), value - pull, value)
            if HAS_MASK or HAS_IGNORE:
                value = tl.where(entering, value, 0.0)
            if SIGMOID:
                if c == 1:
                    tl.store(g_start + g_offsets, value.to(gradient.dtype.element_ty), mask=inside)
            elif CHUNK == 1:
                tl.store(g_start + c * per_class + g_offsets, value.to(gradient.dtype.element_ty), mask=inside)
            else:
                classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
                stored = inside if (c + 1) * CHUNK <= K else inside & (classes < K)
                tl.store(g_start + classes * per_class + g_offsets, value.to(gradient.dtype.element_ty), mask=stored)
