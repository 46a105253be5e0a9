"""What a pixel adds to a sum, in the passes over cells, and how sums reach the table: as integers."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import inverse_of
from sizewise.stats.kernels.forward import focal_value
from sizewise.stats.kernels.tile import COUNT, FOCAL, LN_2, OVERLAP, PIXELS, exponentials

SHARE_BITS = tl.constexpr(32)
LOSS_UNIT = tl.constexpr(float(1 << 20))
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
        minus_log = (tl.log2(total) - shifted[k]) * LN_2
        value = focal_value(minus_log, beside(e, k) * inverse_of(total), PARAMETER)
        y = wanted_share(share, label, k, SHARES, DTYPE)
        return tl.where(y > 0, value * y, 0.0)  # 0 · log 0 = 0
    elif KIND == OVERLAP:
        p = e[k] * inverse_of(total)
        if SHARES:
            return tl.minimum(p, share[k])
        else:
            return tl.where(label == k, p, 0.0)
    else:
        e_tau, total_tau = exponentials(shifted, PARAMETER, 1)
        return e_tau[k] * inverse_of(total_tau)


@triton.jit
def of_label(KIND: tl.constexpr):
    """Whether a sum is 0 without a pixel of its class, as long as the target is labels."""
    return KIND == COUNT or KIND == OVERLAP or KIND == FOCAL


@triton.jit
def whole_number(value, KIND: tl.constexpr, BITS: tl.constexpr):
    """A lane's sum as an integer of the table; 0 for what is not a number. BITS of a share fit a strip's sum in 31."""
    if KIND != COUNT and KIND != PIXELS:
        value = tl.where(value == value, value, 0.0)
    if KIND == FOCAL:
        return (value * LOSS_UNIT + 0.5).to(tl.int64)
    else:
        return (value * (1 << BITS) + 0.5).to(tl.int32).to(tl.int64) << (SHARE_BITS - BITS)


@triton.jit
def anywhere(condition):
    """Whether it holds in any lane."""
    return tl.max(tl.max(condition.to(tl.int32), axis=1), axis=0) > 0


@triton.jit
def is_cell(number, most):
    """Whether it is the number of a cell."""
    return (number > 0) & (number <= most)


@triton.jit
def hand_on(place, plane, kept, leaves, KINDS: tl.constexpr, LABELLED: tl.constexpr, BITS: tl.constexpr):
    """Add what lanes that leave their cell have kept to its sums; LABELLED: only those of the label, or all others."""
    for f in tl.static_range(len(KINDS)):
        if of_label(KINDS[f]) == LABELLED:
            whole = whole_number(kept[f], KINDS[f], BITS)
            tl.atomic_add(place + f * plane, whole, mask=leaves, sem="relaxed")


@triton.jit
def add_runs(place, next_place, whole, ends, gives):
    """Add the running sum along the lanes where a run of one cell ends, and take it from the next cell."""
    running = tl.cumsum(whole, axis=1)
    tl.atomic_add(place, running, mask=ends, sem="relaxed")
    tl.atomic_add(next_place, -running, mask=gives, sem="relaxed")
