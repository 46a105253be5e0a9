"""The gradient of the weighted sums at one pixel of each thread, for labels."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import LN_2, inverse_of, log2_of
from sizewise.stats.kernels.pixel_gradient import class_gradient, focal_slope, weighted_sum
from sizewise.stats.kernels.raw_access import read
from sizewise.stats.kernels.shifted_logits import entering_logits, highest_class, shift, shifted_classes
from sizewise.stats.kernels.tile import OVERLAP, at_label, beside_label, exponentials


@triton.jit
def gather_slots(
    coefficients,
    row,
    rows,
    label,
    KINDS: tl.constexpr,
    SLOTS: tl.constexpr,
    TERMS: tl.constexpr,
    K: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """For each of the label's fields its coefficient at each pixel's label, (1, pixels); 0 where the label is −1."""
    own = coefficients + row.to(tl.int64) * K + label
    per_plane = tl.full([], rows, tl.int64) * K
    factors = coefficients + len(SLOTS) * per_plane
    found = ()
    for f in tl.static_range(len(KINDS)):
        total = tl.zeros(label.shape, DTYPE)
        for p in tl.static_range(len(SLOTS)):
            if SLOTS[p] == f:
                total += read(own + p * per_plane, label >= 0, False) * tl.load(factors + TERMS[p])
        found = found + (total,)
    return found


@triton.jit
def pixel_values(
    logit,
    label,
    label_logit,
    label_slots,
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
    SELECT: tl.constexpr,
    UNLABELLED: tl.constexpr,
    GATHERED: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The gradient of one pixel of each thread, a tuple of (CHUNK, pixels).

    The mathematics is that of :func:`sizewise.stats.kernels.pixel_gradient.pixel_parts`; what belongs to a label was
    GATHERED, or is looked for among all classes.
    """
    entering = kept if UNLABELLED else valid
    logit = entering_logits(logit, entering, SELECT, DTYPE)
    highest = highest_class(logit, CHUNK)
    shifted = shifted_classes(logit, highest)
    if GATHERED:
        label_shifted = shift(label_logit.to(DTYPE), highest)
    else:
        label_shifted = at_label(shifted, label, CHUNK)
    softmaxes = ()
    scales = ()
    kept_scales = ()
    factors = ()
    pulls = ()
    for t in tl.static_range(len(TEMPERATURES)):
        e, total = exponentials(shifted, TEMPERATURES[t], CHUNK)
        inverse = inverse_of(total)
        scale = tl.where(valid, inverse * (TEMPERATURES[t] * factor_on_all), 0.0)
        kept_scale = tl.where(kept, inverse * (TEMPERATURES[t] * factor_on_all), 0.0)
        factor = tl.zeros_like(inverse)
        if SIZES[t] == 1:
            factor -= scale * inverse * weighted_sum(parts[1][t], e, CHUNK)
        if KEPT_SIZES[t] == 1:
            factor -= kept_scale * inverse * weighted_sum(parts[2][t], e, CHUNK)
        if t == 0 and len(KINDS) > 0:
            pull = tl.zeros_like(inverse)
            for f in tl.static_range(len(KINDS)):
                if GATHERED:
                    one = label_slots[f]
                else:
                    one = at_label(parts[0][f], label, CHUNK)
                if KINDS[f] == OVERLAP:
                    one = -one * tl.exp2(label_shifted) * inverse
                elif GAMMAS[f] != 0.0:
                    minus_log = (log2_of(total) - label_shifted) * LN_2
                    rest = beside_label(e, label, CHUNK) * inverse
                    one = one * focal_slope(minus_log, rest, tl.exp2(label_shifted) * inverse, GAMMAS[f])
                pull += one
            pull *= factor_on_all
            factor += pull * inverse
            pulls = (pull,)
        softmaxes = softmaxes + (e,)
        scales = scales + (scale,)
        kept_scales = kept_scales + (kept_scale,)
        factors = factors + (factor,)
    found = (softmaxes, scales, kept_scales, factors, pulls)
    values = ()
    for c in tl.static_range(len(logit)):
        one = class_gradient(found, label, entering, parts, c, SIZES, KEPT_SIZES, CHUNK, False, SELECT)
        values = values + (one,)
    return values
