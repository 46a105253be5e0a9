"""Logits between the cells of a small grid: what the kernels read in place of a full-size tensor.

A table of whole numbers says where each pixel of an axis lies: ``first``, the cell before it, and ``rest``, the weight
of the next cell times a divisor. It holds first and rest of the innermost axis, then of the middle and the outermost
one, then the ``starts`` of each (:class:`sizewise.stats.upsampling.Axis`).
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def weight_of(rest, pixels, CORNERS: tl.constexpr, DTYPE: tl.constexpr):
    """The share of the second cell, for an axis of so many pixels."""
    divisor = tl.maximum(pixels - 1, 1) if CORNERS else 2 * pixels
    return rest.to(DTYPE) / divisor.to(DTYPE)


@triton.jit
def widened(places, weights, touched, first, rest, weight, stride):
    """Each place with its weight, at both cells of one more axis; ``touched`` says where a cell has a share."""
    near = first.to(tl.int64) * stride
    more_places = ()
    more_weights = ()
    more_touched = ()
    for i in tl.static_range(len(places)):
        more_places = more_places + (places[i] + near, places[i] + near + stride)
        more_weights = more_weights + (weights[i] * (1.0 - weight), weights[i] * weight)
        more_touched = more_touched + (touched[i], touched[i] & (rest > 0))
    return more_places, more_weights, more_touched


@triton.jit
def corners_of(
    pixel,
    inside,
    table,
    width,
    height,
    depth,
    outer,
    middle,
    inner,
    AXES: tl.constexpr,
    CORNERS: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The 2^AXES cells around each pixel: their offsets, their shares, and whether they have one."""
    x = pixel % width if AXES > 1 else pixel
    first = tl.load(table + x, mask=inside, other=0)
    rest = tl.load(table + width + x, mask=inside, other=0)
    places = (tl.zeros_like(first).to(tl.int64),)
    weights = (tl.full(first.shape, 1.0, DTYPE),)
    touched = (inside,)
    share = weight_of(rest, tl.full([], width, tl.int32), CORNERS, DTYPE)
    places, weights, touched = widened(places, weights, touched, first, rest, share, inner)
    if AXES > 1:
        row = pixel // width
        y = row % height if AXES > 2 else row
        own = table + 2 * width
        first = tl.load(own + y, mask=inside, other=0)
        rest = tl.load(own + height + y, mask=inside, other=0)
        share = weight_of(rest, tl.full([], height, tl.int32), CORNERS, DTYPE)
        places, weights, touched = widened(places, weights, touched, first, rest, share, middle)
    if AXES > 2:
        z = row // height
        own = table + 2 * width + 2 * height
        first = tl.load(own + z, mask=inside, other=0)
        rest = tl.load(own + depth + z, mask=inside, other=0)
        share = weight_of(rest, tl.full([], depth, tl.int32), CORNERS, DTYPE)
        places, weights, touched = widened(places, weights, touched, first, rest, share, outer)
    return places, weights, touched


@triton.jit
def interpolated(start, places, weights, touched, known, DTYPE: tl.constexpr):
    """Σ over the cells around a pixel of share · logit; what has no share is not read."""
    value = tl.load(start + places[0], mask=touched[0] & known, other=0.0).to(DTYPE) * weights[0]
    for i in tl.static_range(1, len(places)):
        value += tl.load(start + places[i], mask=touched[i] & known, other=0.0).to(DTYPE) * weights[i]
    return value


@triton.jit
def interpolated_classes(
    start,
    per_class,
    around,
    outside_value,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    SIGMOID: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """As :func:`sizewise.stats.kernels.tile.load_classes`; ``around`` is what :func:`corners_of` found."""
    places, weights, touched = around
    if SIGMOID:
        values = interpolated(start, places, weights, touched, True, DTYPE)
        return (tl.zeros_like(values), values)
    per_class = tl.full([], per_class, tl.int64)
    chunks = ()
    for c in tl.static_range((K + CHUNK - 1) // CHUNK):
        if CHUNK == 1:
            values = interpolated(start + c * per_class, places, weights, touched, True, DTYPE)
        else:
            classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
            known = classes < K
            values = interpolated(start + classes * per_class, places, weights, touched, known, DTYPE)
            values = tl.where(known, values, outside_value)
        chunks = chunks + (values,)
    return chunks
