"""What one pixel of each thread adds to the sums of its row."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import LN_2, inverse_of, log2_of
from sizewise.stats.kernels.forward import focal_value
from sizewise.stats.kernels.shifted_logits import entering_logits, highest_class, shift, shifted_classes
from sizewise.stats.kernels.tile import (
    FOCAL,
    KEPT_SIZE,
    OVERLAP,
    PIXELS,
    SIZE,
    at_label,
    beside_label,
    class_numbers,
    exponentials,
)


@triton.jit
def add_pixels(
    sums,
    logit,
    label,
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
    SELECT: tl.constexpr,
    UNLABELLED: tl.constexpr,
    GATHERED: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The sums with one pixel of each thread: those per row, then class by class those per class.

    GROUPS[f] says which softmax field f needs, and TEMPERATURES[g] its τ, 0 for none. All fields of one softmax are
    added class by class: a label is compared once for all of them.
    """
    OWN: tl.constexpr = FIRSTS[0] if len(FIRSTS) > 0 else len(KINDS)
    FIELDS: tl.constexpr = len(KINDS) - OWN
    logit = entering_logits(logit, kept if UNLABELLED else valid, SELECT, DTYPE)
    highest = highest_class(logit, CHUNK)
    shifted = shifted_classes(logit, highest)
    added = ()
    for f in tl.static_range(OWN):
        counted = valid if KINDS[f] == PIXELS else kept
        added = added + (sums[f] + counted.to(DTYPE),)

    rows = ()
    for g in tl.static_range(len(TEMPERATURES)):
        if TEMPERATURES[g] > 0:
            e, total = exponentials(shifted, TEMPERATURES[g], CHUNK)
        if TEMPERATURES[g] == 1.0:
            if GATHERED:
                label_shifted = shift(label_logit.to(DTYPE), highest)
            else:
                label_shifted = at_label(shifted, label, CHUNK)
            label_e = tl.where(label >= 0, tl.exp2(label_shifted), 0.0)
            if BESIDES[g]:
                rest = beside_label(e, label, CHUNK)
                total = rest + label_e
        if TEMPERATURES[g] > 0:
            inverse = inverse_of(total)
            weights = tl.where(valid, inverse, 0.0)
            kept_weights = tl.where(kept, inverse, 0.0)
        values = ()
        for f in tl.static_range(len(KINDS)):
            if GROUPS[f] == g:
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
                    before = sums[c * FIELDS + f]
                    if KINDS[f] == SIZE:
                        after = before + e[c] * weights
                    elif KINDS[f] == KEPT_SIZE:
                        after = before + e[c] * kept_weights
                    else:  # adding under a condition takes one predicated operation
                        hit = label == class_numbers(c, CHUNK)
                        after = tl.where(hit, before + values[f - FIRSTS[g]], before)
                    row = row + (after,)
            grown = grown + (row,)
        rows = grown
    for c in tl.static_range(len(rows)):
        added = added + rows[c]
    return added
