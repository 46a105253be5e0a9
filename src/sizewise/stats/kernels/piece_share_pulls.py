"""What probability targets pull at the pixels of a piece, in the gradient of upsampled logits."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import LN_2, inverse_of, log2_of
from sizewise.stats.kernels.piece_coefficients import chunk_slot
from sizewise.stats.kernels.piece_logits import (
    below,
    class_corners,
    columns_of,
)
from sizewise.stats.kernels.piece_targets import class_shares
from sizewise.stats.kernels.pixel_gradient import focal_slope
from sizewise.stats.kernels.tile import OVERLAP


@triton.jit
def share_pull(share, parts, x, total, KINDS: tl.constexpr, GAMMAS: tl.constexpr):
    """q_ik of probability targets for a chunk of classes, with the share of the class included."""
    p = tl.exp2(x) * inverse_of(total)
    pull = tl.zeros_like(p)
    for f in tl.static_range(len(KINDS)):
        if KINDS[f] == OVERLAP:
            pull += tl.where(p < share, -p * parts[f], 0.0)
        elif GAMMAS[f] == 0.0:
            pull += share * parts[f]
        else:
            slope = focal_slope((log2_of(total) - x) * LN_2, tl.maximum(1.0 - p, 0.0), p, GAMMAS[f])
            pull += tl.where(share > 0, share * parts[f] * slope, 0.0)
    return pull


@triton.jit
def summed_share_pulls(
    z_start,
    z_channel,
    y_start,
    y_channel,
    places,
    corners,
    weights,
    entering,
    valid,
    highs,
    totals,
    coefficients,
    row,
    rows,
    KINDS: tl.constexpr,
    GAMMAS: tl.constexpr,
    T: tl.constexpr,
    SLOTS: tl.constexpr,
    TERMS: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    LANES: tl.constexpr,
    AXES: tl.constexpr,
    SIGMOID: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """For each pixel Σ_k q_ik of probability targets."""
    near, far, up, down, d_weights = weights
    COLUMNS: tl.constexpr = len(near)
    pulled = ()
    for _i in tl.static_range(len(entering)):
        pulled = pulled + (tl.zeros([1, LANES], DTYPE),)
    for start in range(0, K, CHUNK):
        classes = start + tl.arange(0, CHUNK)[:, None]
        parts = ()
        for f in tl.static_range(len(KINDS)):
            parts = parts + (chunk_slot(coefficients, row, rows, classes, f, SLOTS, TERMS, K),)
        found = class_corners(z_start, z_channel, classes, corners, d_weights, K, CHUNK, SIGMOID, AXES, DTYPE)
        upper, lower = columns_of(found, near, far)
        more = ()
        for i in tl.static_range(len(entering)):
            logit = upper[i % COLUMNS] * up[i // COLUMNS] + lower[i % COLUMNS] * down[i // COLUMNS]
            x = below(tl.where(entering[i], logit, 0.0), highs[i])
            share = class_shares(y_start, y_channel, classes, places[i], valid[i], K, SIGMOID, DTYPE)
            pull = share_pull(share, parts, x, totals[i * T], KINDS, GAMMAS)
            more = more + (pulled[i] + tl.sum(pull, axis=0, keep_dims=True),)
        pulled = more
    return pulled
