"""A tile of pixels in a decision: its probabilities, and its labels by the scores a (p − t) or log p + b."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.interpolation import corners_of, interpolated_classes
from sizewise.stats.kernels.tile import FUSED, class_numbers, load_classes, pixel_offsets, sum_classes


@triton.jit
def tile_number(place, part, programs, tiles, BACKWARDS):
    """The place-th tile of a program. Every other turn goes back: what was read last may still be in the cache."""
    own = tl.cdiv(tiles - part, programs)
    return part + tl.where(BACKWARDS, own - 1 - place, place) * programs


@triton.jit
def read_tile(
    pixel,
    inside,
    z_start,
    m_start,
    table,
    width,
    height,
    depth,
    z_channel,
    z_strides,
    m_strides,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    AXES: tl.constexpr,
    UPSAMPLED: tl.constexpr,
    CORNERS: tl.constexpr,
    SIGMOID: tl.constexpr,
    PROBABILITIES: tl.constexpr,
    LOGS: tl.constexpr,
    HAS_MASK: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """Logits, probabilities or their logarithms as a tuple of chunks, and which pixels count; 0 at those that don't."""
    if UPSAMPLED:
        around = corners_of(
            pixel, inside, table, width, height, depth, z_strides[0], z_strides[1], z_strides[2], AXES, CORNERS, DTYPE
        )
        z = interpolated_classes(z_start, z_channel, around, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
    else:
        offsets = pixel_offsets(pixel, width, height, z_strides[0], z_strides[1], z_strides[2], AXES)
        z = load_classes(z_start, z_channel, offsets, inside, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
    valid = inside
    if HAS_MASK:
        offsets = pixel_offsets(pixel, width, height, m_strides[0], m_strides[1], m_strides[2], AXES)
        valid = inside & (tl.load(m_start + offsets, mask=inside, other=0) != 0)
    if PROBABILITIES and SIGMOID:
        z = (1.0 - z[1], z[1])
    kept = ()
    for c in tl.static_range(len(z)):
        value = z[c]
        if PROBABILITIES:
            known = class_numbers(c, CHUNK) < K
            value = tl.where(known, tl.log(value), -float("inf")) if LOGS else tl.where(known, value, 0.0)
        if HAS_MASK or LOGS:  # log 0 stands outside
            value = tl.where(valid, value, 0.0)
        kept = kept + (value,)
    return kept, valid


@triton.jit
def largest_of(chunks, CHUNK: tl.constexpr):
    """The largest value of each pixel, (1, BLOCK)."""
    best = chunks[0]
    for c in tl.static_range(1, len(chunks)):
        best = tl.maximum(best, chunks[c])
    return best if CHUNK == 1 else tl.max(best, axis=0, keep_dims=True)


@triton.jit
def first_largest(scores, K: tl.constexpr, CHUNK: tl.constexpr, BACKGROUND: tl.constexpr):
    """The class with the largest score at each pixel and that score; of equals the background, then the lowest id.

    NaN is never the largest; a pixel of NaN alone gets what ties get.
    """
    label, best, _ = first_largest_with(scores, scores, K, CHUNK, BACKGROUND)
    return label, best


@triton.jit
def first_largest_with(scores, values, K: tl.constexpr, CHUNK: tl.constexpr, BACKGROUND: tl.constexpr):
    """The same, and another value of that class."""
    if CHUNK == 1:
        FROM: tl.constexpr = BACKGROUND if BACKGROUND >= 0 else 0
        best = scores[FROM]
        value = values[FROM]
        label = tl.full(best.shape, FROM, tl.int32)
        for c in tl.static_range(K):
            if c != FROM:
                better = scores[c] > best
                best = tl.where(better, scores[c], best)
                value = tl.where(better, values[c], value)
                label = tl.where(better, c, label)
        return label, best, value
    else:
        best = largest_of(scores, CHUNK)
        label = tl.full(best.shape, K, tl.int32)
        for c in tl.static_range(len(scores)):
            numbers = class_numbers(c, CHUNK)
            order = tl.where(numbers == BACKGROUND, -1, numbers)
            here = tl.where((scores[c] == best) & (numbers < K), order, K)
            label = tl.minimum(label, tl.min(here, axis=0, keep_dims=True).to(tl.int32))
        label = tl.where((label < 0) | (label >= K), BACKGROUND if BACKGROUND >= 0 else 0, label)
        picked = tl.where(label == class_numbers(0, CHUNK), values[0], 0.0)
        for c in tl.static_range(1, len(values)):
            picked = tl.where(label == class_numbers(c, CHUNK), values[c], picked)
        return label, best, tl.sum(picked, axis=0, keep_dims=True)


@triton.jit
def power_of(z, scaled, highest, scale):
    """2^(scale (z − highest)); ``scaled`` is scale · highest, rounded, but equally for all classes."""
    if FUSED:
        return tl.exp2(tl.fma(z, scale + tl.zeros_like(z), -scaled + tl.zeros_like(z)))
    else:
        return tl.exp2((z - highest) * scale)


@triton.jit
def powers(z, highest, scale, CHUNK: tl.constexpr, PLAIN: tl.constexpr):
    """e as a tuple, and Σ_k e, of which the quotient is p; PLAIN: z is p already."""
    if PLAIN:
        return z, tl.full(highest.shape, 1.0, highest.dtype)
    else:
        scaled = highest * scale
        chunks = ()
        for c in tl.static_range(len(z)):
            e = power_of(z[c], scaled, highest, scale)
            chunks = chunks + (e,)
            if c == 0:
                total = e
            else:
                total = total + e
        return chunks, sum_classes(total, CHUNK)


@triton.jit
def load_rule(start, K: tl.constexpr, CHUNK: tl.constexpr, DTYPE: tl.constexpr):
    """One number for each class, as a tuple of values that broadcast over (CHUNK, BLOCK).

    Past the first cache, which may hold what stood there a pass ago.
    """
    chunks = ()
    for c in tl.static_range((K + CHUNK - 1) // CHUNK):
        if CHUNK == 1:
            chunks = chunks + (tl.load(start + c, cache_modifier=".cg").to(DTYPE),)
        else:
            classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
            value = tl.load(start + classes, mask=classes < K, other=0.0, cache_modifier=".cg")
            chunks = chunks + (value.to(DTYPE),)
    return chunks


@triton.jit
def ruled(e, total, gain, wall, K: tl.constexpr, CHUNK: tl.constexpr, BACKGROUND: tl.constexpr):
    """The label of the largest a (p − t), that score times Σe, since a e − (a t) Σe needs no division, and its e."""
    scores = ()
    for c in tl.static_range(len(e)):
        score = e[c] * gain[c] - wall[c] * total
        if CHUNK > 1:
            score = tl.where(class_numbers(c, CHUNK) < K, score, -float("inf"))
        scores = scores + (score,)
    return first_largest_with(scores, e, K, CHUNK, BACKGROUND)


@triton.jit
def shifted_label(z, highest, scale, shift, K: tl.constexpr, CHUNK: tl.constexpr, BACKGROUND: tl.constexpr):
    """The label of the largest log p + b."""
    scores = ()
    for c in tl.static_range(len(z)):
        score = (z[c] - highest) * scale + shift[c]
        if CHUNK > 1:
            score = tl.where(class_numbers(c, CHUNK) < K, score, -float("inf"))
        scores = scores + (score,)
    label, _ = first_largest(scores, K, CHUNK, BACKGROUND)
    return label


@triton.jit
def freed(
    label,
    best,
    chosen,
    e,
    total,
    valid,
    gain_at,
    offset_at,
    bound_at,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    BACKGROUND: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """Where a bound class is the likeliest one its wall does not stand: it may win after all."""
    likeliest, top = first_largest(e, K, CHUNK, BACKGROUND)
    bound = tl.load(bound_at + likeliest, mask=valid, other=0.0, cache_modifier=".cg") > 0
    gain = tl.load(gain_at + likeliest, mask=bound, other=0.0, cache_modifier=".cg").to(DTYPE)
    offset = tl.load(offset_at + likeliest, mask=bound, other=0.0, cache_modifier=".cg").to(DTYPE)
    score = top * gain - offset * total
    order = tl.where(likeliest == BACKGROUND, -1, likeliest)
    wins = bound & ((score > best) | ((score == best) & (order < tl.where(label == BACKGROUND, -1, label))))
    return tl.where(wins, likeliest, label), tl.where(wins, top, chosen)
