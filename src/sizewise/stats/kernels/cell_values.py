"""What a pixel adds to a sum, in the passes over cells."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import inverse_of, log2_of
from sizewise.stats.kernels.forward import focal_value
from sizewise.stats.kernels.tile import COUNT, FOCAL, LN_2, OVERLAP, PIXELS, exponentials

LARGEST_LOSS = tl.constexpr(float(1 << 16))


@triton.jit
def beside(chunks, k: tl.constexpr):
    """Σ over the classes other than k."""
    rest = tl.zeros_like(chunks[0])
    for c in tl.static_range(len(chunks)):
        if c != k:
            rest += chunks[c]
    return rest


@triton.jit
def wanted_share(share, label, k: tl.constexpr, SHARES: tl.constexpr, DTYPE: tl.constexpr):
    """The target's share of class k at each pixel."""
    if SHARES:
        return share[k]
    else:
        return tl.where(label == k, 1.0, 0.0).to(DTYPE)


@triton.jit
def pixel_value(
    shifted,
    e,
    total,
    share,
    label,
    k: tl.constexpr,
    KIND: tl.constexpr,
    PARAMETER: tl.constexpr,
    SHARES: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """What each pixel adds to a sum of class k."""
    if KIND == PIXELS:
        return tl.full(total.shape, 1.0, DTYPE)
    elif KIND == COUNT:
        return wanted_share(share, label, k, SHARES, DTYPE)
    elif KIND == FOCAL:
        value = (log2_of(total) - shifted[k]) * LN_2
        if PARAMETER != 0.0:
            value = focal_value(value, beside(e, k) * inverse_of(total), PARAMETER)
        y = wanted_share(share, label, k, SHARES, DTYPE)
        return tl.where(y > 0, value * y, 0.0)  # 0 · log 0 = 0
    elif KIND == OVERLAP:
        p = e[k] * inverse_of(total)
        if SHARES:
            return tl.minimum(p, share[k])
        else:
            return tl.where(label == k, p, 0.0)
    elif PARAMETER == 1.0:
        return e[k] * inverse_of(total)
    else:
        e_tau, total_tau = exponentials(shifted, PARAMETER, 1)
        return e_tau[k] * inverse_of(total_tau)


@triton.jit
def anywhere(condition):
    """Whether it holds in any lane."""
    return tl.max(tl.max(condition.to(tl.int32), axis=1), axis=0) > 0


@triton.jit
def is_cell(number, most):
    """Whether it is the number of a cell."""
    return (number > 0) & (number <= most)
