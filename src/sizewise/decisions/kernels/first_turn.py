"""Turn 0 of a decision: argmax, with the expected sizes, and which classes are likely anywhere."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.decisions.kernels.labels import first_largest, power_of, powers, read_tile, tile_number
from sizewise.decisions.kernels.sums import (
    add_chosen,
    add_shares,
    either,
    hand_on_class,
    no_counts,
    no_sums,
    set_bit,
)


@triton.jit
def add_first_turn(
    own,
    z_start,
    m_start,
    table,
    pixels,
    tiles,
    part,
    programs,
    width,
    height,
    depth,
    z_channel,
    z_strides,
    m_strides,
    scale,
    limit,
    unit,
    SHIFTED: tl.constexpr,
    BACKGROUND: tl.constexpr,
    K: tl.constexpr,
    KB: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
    VECTOR: tl.constexpr,
    AXES: tl.constexpr,
    UPSAMPLED: tl.constexpr,
    CORNERS: tl.constexpr,
    SIGMOID: tl.constexpr,
    PROBABILITIES: tl.constexpr,
    TEMPERED: tl.constexpr,
    HAS_MASK: tl.constexpr,
    HAS_BOUND: tl.constexpr,
    HALF_BOUND: tl.constexpr,
    EVEN: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """Add what a program's tiles have of V, I, G and classes above the limit to ``own``, the sums of this turn."""
    CHUNKS: tl.constexpr = (K + CHUNK - 1) // CHUNK
    PARTS: tl.constexpr = BLOCK // VECTOR
    PLAIN: tl.constexpr = PROBABILITIES and not TEMPERED
    counts = no_counts(K, CHUNK, PARTS)
    insides = no_sums(0 if SHIFTED else CHUNKS, CHUNK, PARTS, DTYPE)
    expected = no_sums(CHUNKS, CHUNK, PARTS, DTYPE)
    likely = tl.zeros([1, BLOCK], tl.int32)  # a bit for each class that is above the limit somewhere
    highest_p = no_sums(CHUNKS if HAS_BOUND and CHUNK > 1 else 0, CHUNK, BLOCK, DTYPE)
    for place in range(tl.cdiv(tiles - part, programs)):
        pixel = tile_number(place, part, programs, tiles, False) * BLOCK + tl.arange(0, BLOCK)[None, :]
        inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else pixel < pixels
        z, valid = read_tile(
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
            K,
            CHUNK,
            AXES,
            UPSAMPLED,
            CORNERS,
            SIGMOID,
            PROBABILITIES,
            PROBABILITIES and TEMPERED,
            HAS_MASK,
            DTYPE,
        )
        label, highest = first_largest(z, K, CHUNK, BACKGROUND)
        e, total = powers(z, highest, scale, CHUNK, PLAIN)
        inverse = tl.where(valid & (total == total), 1.0 / total, 0.0)
        label = tl.where(valid, label, -1)
        if PLAIN:
            top = tl.where(valid, highest, 0.0)
        else:
            top = power_of(highest, highest * scale, highest, scale) * inverse
        counts, insides = add_chosen(counts, insides, label, top, K, CHUNK, VECTOR)
        expected = add_shares(expected, e, inverse, VECTOR)
        if HAS_BOUND:
            if CHUNK > 1:
                higher = ()
                for c in tl.static_range(CHUNKS):
                    higher = higher + (tl.maximum(highest_p[c], e[c] * inverse),)
                highest_p = higher
            elif HALF_BOUND:
                likely = tl.where(top > limit, likely | (1 << tl.maximum(label, 0)), likely)
            else:
                for c in tl.static_range(CHUNKS):
                    likely = set_bit(likely, e[c] * inverse > limit, c)
    if HAS_BOUND and CHUNK == 1:
        bits = tl.reduce(tl.reduce(likely, 1, either), 0, either)
    for c in tl.static_range(CHUNKS):
        hand_on_class(own, counts, (insides, expected), unit, c, K, KB, CHUNK)
        if HAS_BOUND:
            if CHUNK == 1:
                tl.atomic_add(own + 3 * KB + c, ((bits >> c) & 1).to(tl.int64), sem="relaxed")
            else:
                classes = c * CHUNK + tl.arange(0, CHUNK)
                above = (tl.max(highest_p[c], axis=1) > limit).to(tl.int64)
                tl.atomic_add(own + 3 * KB + classes, above, mask=classes < K, sem="relaxed")
