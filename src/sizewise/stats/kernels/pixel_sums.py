"""What a tile of pixels adds to the sums of its row."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import LN_2, inverse_of, log2_of
from sizewise.stats.kernels.tile import (
    COUNT,
    FOCAL,
    KEPT_SIZE,
    OVERLAP,
    PIXELS,
    SIZE,
    at_label,
    beside_label,
    class_numbers,
    entering_logits,
    exponentials,
    highest_class,
    minus_log_over_rest,
    rest_power,
    shift,
)


@triton.jit
def focal_value(minus_log, rest, GAMMA: tl.constexpr):
    """−(1 − p)^γ log p."""
    return minus_log if GAMMA == 0.0 else rest_power(rest, GAMMA) * rest * minus_log_over_rest(minus_log, rest)


@triton.jit
def share_value(share, shifted, e, total, KIND: tl.constexpr, PARAMETER: tl.constexpr):
    """What probability targets add to one class."""
    inverse = inverse_of(total)
    if KIND == OVERLAP:
        return tl.minimum(e * inverse, share)
    else:
        minus_log = (log2_of(total) - shifted) * LN_2
        rest = tl.maximum(1.0 - e * inverse, 0.0)
        return tl.where(share > 0, focal_value(minus_log, rest, PARAMETER) * share, 0.0)  # 0 · log 0 = 0


@triton.jit
def add_pixels(
    sums,
    logit,
    target,
    label_logit,
    kept,
    valid,
    KINDS: tl.constexpr,
    PARAMETERS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    GROUPS: tl.constexpr,
    FIRSTS: tl.constexpr,
    BESIDES: tl.constexpr,
    CHUNK: tl.constexpr,
    SHARES: tl.constexpr,
    SELECT: tl.constexpr,
    UNLABELLED: tl.constexpr,
    GATHERED: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The sums with these pixels: those per row, then class by class those per class.

    ``target`` is the label, (1, pixels), or a tuple of shares; ``label_logit`` the logit of each pixel's label where it
    was GATHERED. GROUPS[f] says which softmax field f needs, and TEMPERATURES[g] its τ, 0 for none. All fields of one
    softmax are added class by class: a label is compared once for all of them.
    """
    OWN: tl.constexpr = FIRSTS[0] if len(FIRSTS) > 0 else len(KINDS)
    FIELDS: tl.constexpr = len(KINDS) - OWN
    logit = entering_logits(logit, kept if UNLABELLED else valid, SELECT, DTYPE)
    highest = highest_class(logit, CHUNK)
    shifted = ()
    for c in tl.static_range(len(logit)):
        shifted = shifted + (shift(logit[c], highest),)
    added = ()
    for f in tl.static_range(OWN):
        counted = valid if KINDS[f] == PIXELS else kept
        added = added + (sums[f] + counted.to(DTYPE),)

    rows = ()
    for g in tl.static_range(len(TEMPERATURES)):
        if TEMPERATURES[g] > 0:
            e, total = exponentials(shifted, TEMPERATURES[g], CHUNK)
        if TEMPERATURES[g] == 1.0 and not SHARES:
            if GATHERED:
                label_shifted = shift(label_logit.to(DTYPE), highest)
            else:
                label_shifted = at_label(shifted, target, CHUNK)
            label_e = tl.where(target >= 0, tl.exp2(label_shifted), 0.0)
            if BESIDES[g]:
                rest = beside_label(e, target, CHUNK)
                total = rest + label_e
        if TEMPERATURES[g] > 0:
            inverse = inverse_of(total)
            weights = tl.where(valid, inverse, 0.0)
            kept_weights = tl.where(kept, inverse, 0.0)
        values = ()
        for f in tl.static_range(len(KINDS)):
            if GROUPS[f] == g and not SHARES:
                if KINDS[f] == OVERLAP:
                    value = label_e * inverse
                elif KINDS[f] == FOCAL:
                    value = (log2_of(total) - label_shifted) * LN_2
                    if PARAMETERS[f] != 0.0:
                        value = focal_value(value, rest * inverse, PARAMETERS[f])
                else:
                    value = tl.full(valid.shape, 1.0, DTYPE)
                values = values + (value,)
        grown = ()
        for c in tl.static_range(len(logit)):
            row = ()
            if g > 0:
                row = rows[c]
            for f in tl.static_range(len(KINDS)):
                if GROUPS[f] == g:
                    before = sums[OWN + c * FIELDS + f - OWN]
                    if KINDS[f] == SIZE:
                        after = before + e[c] * weights
                    elif KINDS[f] == KEPT_SIZE:
                        after = before + e[c] * kept_weights
                    elif not SHARES:  # adding under a condition takes one predicated operation
                        hit = target == class_numbers(c, CHUNK)
                        after = tl.where(hit, before + values[f - FIRSTS[g]], before)
                    elif KINDS[f] == COUNT:
                        after = before + target[c]
                    else:
                        after = before + share_value(target[c], shifted[c], e[c], total, KINDS[f], PARAMETERS[f])
                    row = row + (after,)
            grown = grown + (row,)
        rows = grown
    for c in tl.static_range(len(rows)):
        added = added + rows[c]
    return added
