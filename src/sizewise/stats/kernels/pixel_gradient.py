"""What the backward kernels share: the gradient of the weighted sums at each pixel of a tile."""

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
    minus_log_over_rest,
    rest_power,
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
def load_slots(
    coefficients,
    row,
    rows,
    KINDS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    SLOTS: tl.constexpr,
    TERMS: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """The coefficients of one row: those of the label's fields, of the sizes, and of the sizes over kept pixels."""
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
    return label_parts, size_parts, kept_parts


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
def pixel_parts(
    shifted,
    target,
    kept,
    valid,
    parts,
    factor_on_all,
    KINDS: tl.constexpr,
    GAMMAS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    SIZES: tl.constexpr,
    KEPT_SIZES: tl.constexpr,
    CHUNK: tl.constexpr,
    SHARES: tl.constexpr,
):
    """What :func:`class_gradient` needs of a tile: e for each τ, its factors, and the pulls of the label or of shares.

    ``target`` is the label, (1, BLOCK), or the shares of all classes; ``parts`` are those of :func:`load_slots`.
    """
    label_parts, size_parts, kept_parts = parts
    softmaxes = ()
    scales = ()
    kept_scales = ()
    factors = ()
    pulls = ()
    for t in tl.static_range(len(TEMPERATURES)):
        e, total = exponentials(shifted, TEMPERATURES[t], CHUNK)
        inverse = 1.0 / total
        scale = tl.where(valid, inverse * (TEMPERATURES[t] * factor_on_all), 0.0)
        kept_scale = tl.where(kept, inverse * (TEMPERATURES[t] * factor_on_all), 0.0)
        factor = tl.zeros_like(inverse)
        if SIZES[t] == 1:
            factor -= scale * inverse * weighted_sum(size_parts[t], e, CHUNK)
        if KEPT_SIZES[t] == 1:
            factor -= kept_scale * inverse * weighted_sum(kept_parts[t], e, CHUNK)
        if t == 0 and len(KINDS) > 0:
            if SHARES:
                pulls = share_pulls(target, label_parts, shifted, e, total, factor_on_all, KINDS, GAMMAS)
                whole = pulls[0]
                for c in tl.static_range(1, len(pulls)):
                    whole = whole + pulls[c]
                factor += sum_classes(whole, CHUNK) * inverse
            else:
                pull = tl.zeros_like(inverse)
                for f in tl.static_range(len(KINDS)):
                    one = at_label(label_parts[f], target, CHUNK)
                    if KINDS[f] == OVERLAP or GAMMAS[f] != 0.0:
                        minus_log = (tl.log2(total) - at_label(shifted, target, CHUNK)) * LN_2
                        p = tl.exp2(minus_log * -LOG2_E)
                        if KINDS[f] == OVERLAP:
                            one = -one * p
                        else:
                            rest = beside_label(e, target, CHUNK) * inverse
                            one = one * focal_slope(minus_log, rest, p, GAMMAS[f])
                    pull += one
                pull *= factor_on_all
                factor += pull * inverse
                pulls = (pull,)
        softmaxes = softmaxes + (e,)
        scales = scales + (scale,)
        kept_scales = kept_scales + (kept_scale,)
        factors = factors + (factor,)
    return softmaxes, scales, kept_scales, factors, pulls


@triton.jit
def class_gradient(
    found,
    target,
    entering,
    parts,
    c: tl.constexpr,
    SIZES: tl.constexpr,
    KEPT_SIZES: tl.constexpr,
    CHUNK: tl.constexpr,
    SHARES: tl.constexpr,
    SELECT: tl.constexpr,
):
    """The gradient of chunk ``c`` of the classes, (CHUNK, BLOCK); 0 where a pixel does not enter.

    A label's field pulls with q_i (p_ij − y_ij), a size with τ s_ij (c_j − Σ_l c_l s_il): together Σ over τ of
    e_ij · factor, less q_i at the label.
    """
    softmaxes, scales, kept_scales, factors, pulls = found
    size_parts = parts[1]
    kept_parts = parts[2]
    value = tl.zeros_like(softmaxes[0][c])
    for t in tl.static_range(len(softmaxes)):
        factor = factors[t]
        if SIZES[t] == 1:
            factor = factor + scales[t] * size_parts[t][c]
        if KEPT_SIZES[t] == 1:
            factor = factor + kept_scales[t] * kept_parts[t][c]
        value += softmaxes[t][c] * factor
    if len(pulls) > 0:
        if SHARES:
            value -= pulls[c]
        else:
            value = tl.where(target == class_numbers(c, CHUNK), value - pulls[0], value)
    if SELECT:
        value = tl.where(entering, value, 0.0)
    return value
