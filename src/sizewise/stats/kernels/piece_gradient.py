"""What the gradient at each pixel of a piece is made of, before the classes are gone through one last time.

The mathematics is that of :func:`sizewise.stats.kernels.pixel_gradient.pixel_parts`, with the classes in a loop.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import LN_2, inverse_of, log2_of
from sizewise.stats.kernels.piece_coefficients import chunk_slots
from sizewise.stats.kernels.piece_logits import (
    LOWEST,
    below,
    class_corners,
    columns_of,
    label_logit,
    raised,
    shrunk,
)
from sizewise.stats.kernels.pixel_gradient import focal_slope
from sizewise.stats.kernels.pixel_values import gather_slots
from sizewise.stats.kernels.tile import OVERLAP


@triton.jit
def summed_exponentials(
    z_start,
    z_channel,
    corners,
    weights,
    entering,
    labels,
    coefficients,
    row,
    rows,
    KINDS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    SIZES: tl.constexpr,
    KEPT_SIZES: tl.constexpr,
    SLOTS: tl.constexpr,
    TERMS: tl.constexpr,
    BESIDE: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    LANES: tl.constexpr,
    AXES: tl.constexpr,
    SIGMOID: tl.constexpr,
    SHARES: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """For each pixel the maximum, and for each τ Σe, Σ c e and the same over kept pixels.

    Where a focal field needs 1 − p, the first Σe leaves the label out.
    """
    near, far, up, down, d_weights = weights
    T: tl.constexpr = len(TEMPERATURES)
    COLUMNS: tl.constexpr = len(near)
    highs = ()
    totals = ()
    products = ()
    kept_products = ()
    for _i in tl.static_range(len(entering)):
        highs = highs + (tl.full([1, LANES], LOWEST, DTYPE),)
        for _t in tl.static_range(T):
            totals = totals + (tl.zeros([1, LANES], DTYPE),)
            products = products + (tl.zeros([1, LANES], DTYPE),)
            kept_products = kept_products + (tl.zeros([1, LANES], DTYPE),)
    for start in range(0, K, CHUNK):
        classes = start + tl.arange(0, CHUNK)[:, None]
        sizes, kept_sizes, _labels = chunk_slots(
            coefficients, row, rows, classes, KINDS, SIZES, KEPT_SIZES, SLOTS, TERMS, K, False
        )
        found = class_corners(z_start, z_channel, classes, corners, d_weights, K, CHUNK, SIGMOID, AXES, DTYPE)
        upper, lower = columns_of(found, near, far)
        new_highs = ()
        new_totals = ()
        new_products = ()
        new_kept = ()
        for i in tl.static_range(len(entering)):
            logit = upper[i % COLUMNS] * up[i // COLUMNS] + lower[i % COLUMNS] * down[i // COLUMNS]
            logit = tl.where(entering[i], logit, 0.0)
            high = raised(highs[i], logit)
            x = below(logit, high)
            new_highs = new_highs + (high,)
            for t in tl.static_range(T):
                e = tl.exp2(x * TEMPERATURES[t])
                scale = shrunk(highs[i], high, TEMPERATURES[t])
                product = products[i * T + t]
                if SIZES[t] == 1:
                    product = product * scale + tl.sum(e * sizes[t], axis=0, keep_dims=True)
                new_products = new_products + (product,)
                product = kept_products[i * T + t]
                if KEPT_SIZES[t] == 1:
                    product = product * scale + tl.sum(e * kept_sizes[t], axis=0, keep_dims=True)
                new_kept = new_kept + (product,)
                if BESIDE and t == 0 and not SHARES:
                    e = tl.where(labels[i] == classes, 0.0, e)
                new_totals = new_totals + (totals[i * T + t] * scale + tl.sum(e, axis=0, keep_dims=True),)
        highs = new_highs
        totals = new_totals
        products = new_products
        kept_products = new_kept
    return highs, totals, products, kept_products


@triton.jit
def pixel_factors(
    z_start,
    z_channel,
    corners,
    weights,
    entering,
    kept,
    valid,
    labels,
    highs,
    totals,
    products,
    kept_products,
    pulled,
    factor_on_all,
    coefficients,
    row,
    rows,
    KINDS: tl.constexpr,
    GAMMAS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    SIZES: tl.constexpr,
    KEPT_SIZES: tl.constexpr,
    SLOTS: tl.constexpr,
    TERMS: tl.constexpr,
    BESIDE: tl.constexpr,
    K: tl.constexpr,
    AXES: tl.constexpr,
    SIGMOID: tl.constexpr,
    SHARES: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """For each pixel and τ what e is multiplied with for all classes, and with their own parts; the label's pull."""
    near, far, up, down, d_weights = weights
    T: tl.constexpr = len(TEMPERATURES)
    COLUMNS: tl.constexpr = len(near)
    factors = ()
    scales = ()
    kept_scales = ()
    pulls = ()
    for i in tl.static_range(len(entering)):
        for t in tl.static_range(T):
            total = totals[i * T + t]
            pull = tl.zeros_like(total)
            if t == 0 and len(KINDS) > 0 and not SHARES:
                logit = label_logit(
                    z_start,
                    z_channel,
                    labels[i],
                    corners,
                    d_weights,
                    near[i % COLUMNS],
                    far[i % COLUMNS],
                    up[i // COLUMNS],
                    down[i // COLUMNS],
                    SIGMOID,
                    AXES,
                    DTYPE,
                )
                x = below(tl.where(entering[i], logit, 0.0), highs[i])
                label_e = tl.where(labels[i] >= 0, tl.exp2(x), 0.0)
                rest = total
                if BESIDE:
                    total = rest + label_e
                inverse = inverse_of(total)
                slots = gather_slots(coefficients, row, rows, labels[i], KINDS, SLOTS, TERMS, K, DTYPE)
                for f in tl.static_range(len(KINDS)):
                    one = slots[f]
                    if KINDS[f] == OVERLAP:
                        one = -one * label_e * inverse
                    elif GAMMAS[f] != 0.0:
                        minus_log = (log2_of(total) - x) * LN_2
                        one = one * focal_slope(minus_log, rest * inverse, label_e * inverse, GAMMAS[f])
                    pull += one
                pull *= factor_on_all
                pulls = pulls + (pull,)
            inverse = inverse_of(total)
            scale = tl.where(valid[i], inverse * (TEMPERATURES[t] * factor_on_all), 0.0)
            kept_scale = tl.where(kept[i], inverse * (TEMPERATURES[t] * factor_on_all), 0.0)
            factor = pull * inverse
            if t == 0 and len(KINDS) > 0 and SHARES:
                factor = pulled[i] * factor_on_all * inverse
            if SIZES[t] == 1:
                factor -= scale * inverse * products[i * T + t]
            if KEPT_SIZES[t] == 1:
                factor -= kept_scale * inverse * kept_products[i * T + t]
            factors = factors + (factor,)
            scales = scales + (scale,)
            kept_scales = kept_scales + (kept_scale,)
    return factors, scales, kept_scales, pulls
