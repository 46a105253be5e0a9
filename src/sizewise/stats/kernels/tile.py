"""What the forward and backward kernels share: reading a tile of pixels, and its softmax.

A tile is BLOCK pixels of one image with all K classes. The classes lie in a tuple of CHUNKS tensors of shape
(CHUNK, BLOCK). With CHUNK = 1 the loop over classes is unrolled and no thread works on padding, which a single tensor
padded to a power of two would cost; many classes take larger chunks. What belongs to a pixel has the shape (1, BLOCK).
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.fields import Kind
from sizewise.stats.kernels.arithmetic import FUSED, LN_2, LOG2_E, inverse_of  # noqa: F401

COUNT = tl.constexpr(int(Kind.COUNT))
PIXELS = tl.constexpr(int(Kind.PIXELS))
FOCAL = tl.constexpr(int(Kind.FOCAL))
OVERLAP = tl.constexpr(int(Kind.OVERLAP))
SIZE = tl.constexpr(int(Kind.SIZE))
KEPT_PIXELS = tl.constexpr(int(Kind.KEPT_PIXELS))
KEPT_SIZE = tl.constexpr(int(Kind.KEPT_SIZE))


@triton.jit
def pixel_offsets(pixel, width, height, outer, middle, inner, AXES: tl.constexpr):
    """Where the pixels lie in a tensor with one, two or three spatial axes left after collapsing."""
    if AXES == 1:
        return pixel * inner
    elif AXES == 2:
        return (pixel // width) * middle + (pixel % width) * inner
    else:
        rows = pixel // width
        return (rows // height) * outer + (rows % height) * middle + (pixel % width) * inner


@triton.jit
def row_start(pointer, row, per_image, per_channel, channels, SIGMOID: tl.constexpr):
    """The pointer to the first pixel of a row of the sums: an image, or one sigmoid channel of an image."""
    if SIGMOID:
        return pointer + (row // channels).to(tl.int64) * per_image + (row % channels).to(tl.int64) * per_channel
    else:
        return pointer + row.to(tl.int64) * per_image


@triton.jit
def load_classes(
    start,
    per_class,
    offsets,
    inside,
    outside_value,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    SIGMOID: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The tile as a tuple of chunks. Pixels outside are 0, classes past K are ``outside_value``."""
    if SIGMOID:
        values = tl.load(start + offsets, mask=inside, other=0.0).to(DTYPE)
        return (tl.zeros_like(values), values)
    per_class = tl.full([], per_class, tl.int64)  # K · stride can pass 2^31 where each factor does not
    chunks = ()
    for c in tl.static_range((K + CHUNK - 1) // CHUNK):
        if CHUNK == 1:
            values = tl.load(start + c * per_class + offsets, mask=inside, other=0.0).to(DTYPE)
        else:
            classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
            pointers = start + classes * per_class + offsets
            if (c + 1) * CHUNK <= K:
                values = tl.load(pointers, mask=inside, other=0.0).to(DTYPE)
            else:
                values = tl.load(pointers, mask=inside & (classes < K), other=0.0).to(DTYPE)
                values = tl.where(classes < K, values, outside_value)
        chunks = chunks + (values,)
    return chunks


@triton.jit
def sum_classes(values, CHUNK: tl.constexpr):
    """(CHUNK, BLOCK) to (1, BLOCK). Chunks are added up first, so that the threads exchange values only once."""
    return values if CHUNK == 1 else tl.sum(values, axis=0, keep_dims=True)


@triton.jit
def subtract_maximum(chunks, entering, CHUNK: tl.constexpr, SELECT: tl.constexpr):
    """x = (z − max z) log2 e, with 0 in place of the logits of pixels that do not enter, since NaN times 0 is NaN.

    The maximum times log2 e is rounded, but equally for all classes, so that it cancels in softmax and log p.
    """
    kept = ()
    for c in tl.static_range(len(chunks)):
        if SELECT:
            kept = kept + (tl.where(entering, chunks[c], 0.0),)
        else:
            kept = kept + (chunks[c],)
    highest = kept[0]
    for c in tl.static_range(1, len(chunks)):
        highest = tl.maximum(highest, kept[c])
    if CHUNK > 1:
        highest = tl.max(highest, axis=0, keep_dims=True)
    scaled = highest * LOG2_E
    shifted = ()
    for c in tl.static_range(len(chunks)):
        if FUSED:
            shifted = shifted + (tl.fma(kept[c], tl.full([1, 1], LOG2_E, scaled.dtype), -scaled),)
        else:
            shifted = shifted + ((kept[c] - highest) * LOG2_E,)
    return shifted


@triton.jit
def exponentials(shifted, TEMPERATURE: tl.constexpr, CHUNK: tl.constexpr):
    """e = exp(τ (z − max z)) = 2^(τ x) as a tuple, and Σ_k e: their quotient is softmax(τ z)."""
    chunks = ()
    for c in tl.static_range(len(shifted)):
        if TEMPERATURE == 1.0:
            e = tl.exp2(shifted[c])
        else:
            e = tl.exp2(shifted[c] * TEMPERATURE)
        chunks = chunks + (e,)
        if c == 0:
            total = e
        else:
            total = total + e
    return chunks, sum_classes(total, CHUNK)


@triton.jit
def class_numbers(c, CHUNK: tl.constexpr):
    """The classes of chunk ``c``, as something that compares with (1, BLOCK) labels."""
    return c if CHUNK == 1 else c * CHUNK + tl.arange(0, CHUNK)[:, None]


@triton.jit
def at_label(chunks, label, CHUNK: tl.constexpr):
    """Each pixel's value at its label, (1, BLOCK); 0 where the label is −1."""
    picked = tl.where(label == class_numbers(0, CHUNK), chunks[0], 0.0)
    for c in tl.static_range(1, len(chunks)):
        picked = tl.where(label == class_numbers(c, CHUNK), chunks[c], picked)
    return sum_classes(picked, CHUNK)


@triton.jit
def beside_label(chunks, label, CHUNK: tl.constexpr):
    """Σ over the classes other than the label, (1, BLOCK): 1 − p without cancellation."""
    rest = tl.where(label == class_numbers(0, CHUNK), 0.0, chunks[0])
    for c in tl.static_range(1, len(chunks)):
        rest += tl.where(label == class_numbers(c, CHUNK), 0.0, chunks[c])
    return sum_classes(rest, CHUNK)


@triton.jit
def minus_log_over_rest(minus_log, rest):
    """−log(p) / (1 − p), which is 1 at p = 1; the series keeps the digits that the quotient loses near there."""
    edge = 1e-4 if minus_log.dtype == tl.float64 else 1e-2
    series = 1.0 + rest * (0.5 + rest * (1.0 / 3.0 + rest * 0.25))
    return tl.where(rest < edge, series, minus_log * inverse_of(tl.where(rest < edge, 1.0, rest)))


@triton.jit
def rest_power(rest, GAMMA: tl.constexpr):
    """(1 − p)^γ."""
    if GAMMA == 1.0:
        return rest
    elif GAMMA == 2.0:
        return rest * rest
    else:
        return tl.exp2(GAMMA * tl.log2(rest))
