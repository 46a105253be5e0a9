"""The coefficients of a chunk of classes, where the gradient of upsampled logits reads them."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.raw_access import read


@triton.jit
def chunk_slot(
    coefficients, row, rows, classes, SLOT: tl.constexpr, SLOTS: tl.constexpr, TERMS: tl.constexpr, K: tl.constexpr
):
    """∂L/∂field of a chunk of classes, (CHUNK, 1): Σ over the field's planes of ∂L/∂term · ∂term/∂field; any past K."""
    own = coefficients + row.to(tl.int64) * K
    per_plane = tl.full([], rows, tl.int64) * K
    factors = coefficients + len(SLOTS) * per_plane
    value = tl.zeros(classes.shape, coefficients.dtype.element_ty)
    for p in tl.static_range(len(SLOTS)):
        if SLOTS[p] == SLOT:
            one = read(own + (p * per_plane + tl.minimum(classes, K - 1)), classes >= 0, True)
            value += one * tl.load(factors + TERMS[p])
    return value


@triton.jit
def chunk_slots(
    coefficients,
    row,
    rows,
    classes,
    KINDS: tl.constexpr,
    SIZES: tl.constexpr,
    KEPT_SIZES: tl.constexpr,
    SLOTS: tl.constexpr,
    TERMS: tl.constexpr,
    K: tl.constexpr,
    SHARES: tl.constexpr,
):
    """Those of the sizes, of the sizes over kept pixels, and with SHARES of the label's fields; 0 for what is not."""
    T: tl.constexpr = len(SIZES)
    sizes = ()
    kept_sizes = ()
    labels = ()
    for t in tl.static_range(T):
        if SIZES[t] == 1:
            sizes = sizes + (chunk_slot(coefficients, row, rows, classes, len(KINDS) + t, SLOTS, TERMS, K),)
        else:
            sizes = sizes + (0.0,)
        if KEPT_SIZES[t] == 1:
            kept_sizes = kept_sizes + (
                chunk_slot(coefficients, row, rows, classes, len(KINDS) + T + t, SLOTS, TERMS, K),
            )
        else:
            kept_sizes = kept_sizes + (0.0,)
    if SHARES:
        for f in tl.static_range(len(KINDS)):
            labels = labels + (chunk_slot(coefficients, row, rows, classes, f, SLOTS, TERMS, K),)
    return sizes, kept_sizes, labels
