"""What the kernels by words share: the logits of one pixel after the other, less their maximum."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import FUSED, LOG2_E
from sizewise.stats.kernels.raw_access import read


@triton.jit
def entering_logits(chunks, entering, SELECT: tl.constexpr, DTYPE: tl.constexpr):
    """The logits to compute with: 0 in place of those of pixels that do not enter, since NaN times 0 is NaN."""
    kept = ()
    for c in tl.static_range(len(chunks)):
        if SELECT:
            kept = kept + (tl.where(entering, chunks[c].to(DTYPE), 0.0),)
        else:
            kept = kept + (chunks[c].to(DTYPE),)
    return kept


@triton.jit
def highest_class(chunks, CHUNK: tl.constexpr):
    """max z, (1, pixels)."""
    highest = chunks[0]
    for c in tl.static_range(1, len(chunks)):
        highest = tl.maximum(highest, chunks[c])
    return highest if CHUNK == 1 else tl.max(highest, axis=0, keep_dims=True)


@triton.jit
def shift(values, highest):
    """x = (z − max z) log2 e. The maximum times log2 e is rounded, but equally for all classes: it cancels."""
    if FUSED:
        return tl.fma(values, tl.full([1, 1], LOG2_E, values.dtype), -(highest * LOG2_E))
    else:
        return (values - highest) * LOG2_E


@triton.jit
def shifted_classes(chunks, highest):
    """x of all classes."""
    shifted = ()
    for c in tl.static_range(len(chunks)):
        shifted = shifted + (shift(chunks[c], highest),)
    return shifted


@triton.jit
def load_at_label(start, per_class, offsets, label):
    """The logit of each pixel's label, as it is stored; 0 where the label is −1."""
    places = label * tl.full([], per_class, tl.int64) + offsets
    return read(start + places, label >= 0, False)


@triton.jit
def load_one_by_one(
    start, per_class, offsets, inside, K: tl.constexpr, CHUNK: tl.constexpr, DTYPE: tl.constexpr, EVEN: tl.constexpr
):
    """The logits of one pixel of each thread, where no words can be read; −∞ for classes past K."""
    per_class = tl.full([], per_class, tl.int64)
    chunks = ()
    for c in tl.static_range((K + CHUNK - 1) // CHUNK):
        if CHUNK == 1:
            value = read(start + c * per_class + offsets, inside, EVEN).to(DTYPE)
        else:
            classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
            value = read(start + classes * per_class + offsets, inside & (classes < K), False).to(DTYPE)
            value = tl.where(classes < K, value, -float("inf"))
        chunks = chunks + (value,)
    return chunks
