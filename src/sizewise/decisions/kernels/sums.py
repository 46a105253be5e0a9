"""What a program adds up of its tiles in a decision, and how it hands that on: as integers, whose sum has no order."""

# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.forward import fold, pieces
from sizewise.stats.kernels.tile import class_numbers


@triton.jit
def no_counts(K: tl.constexpr, CHUNK: tl.constexpr, PARTS: tl.constexpr):
    """Numbers of pixels, all 0."""
    counts = ()
    for _c in tl.static_range((K + 1) // 2 if CHUNK == 1 else (K + CHUNK - 1) // CHUNK):
        counts = counts + (tl.zeros([CHUNK, PARTS], tl.int32),)
    return counts


@triton.jit
def no_sums(CHUNKS: tl.constexpr, CHUNK: tl.constexpr, PARTS: tl.constexpr, DTYPE: tl.constexpr):
    """Sums of each class, all 0."""
    sums = ()
    for _c in tl.static_range(CHUNKS):
        sums = sums + (tl.zeros([CHUNK, PARTS], DTYPE),)
    return sums


@triton.jit
def add_chosen(counts, sums, label, values, K: tl.constexpr, CHUNK: tl.constexpr, VECTOR: tl.constexpr):
    """The pixels of each label, and the sums of their values, from one comparison; ``sums`` may be empty.

    The numbers of pixels of two classes share an integer, which spares registers.
    """
    new_counts = ()
    new_sums = ()
    if CHUNK == 1:
        labels = pieces(label, VECTOR)
        parts = pieces(values, VECTOR)
        for pair in tl.static_range((K + 1) // 2):
            count = counts[pair]
            for half in tl.static_range(2):
                if 2 * pair + half < K:
                    if len(sums) > 0:
                        total = sums[2 * pair + half]
                    for v in tl.static_range(VECTOR):
                        hit = labels[v] == 2 * pair + half
                        count = tl.where(hit, count + (1 if half == 0 else 65536), count)
                        if len(sums) > 0:
                            total = tl.where(hit, total + parts[v], total)
                    if len(sums) > 0:
                        new_sums = new_sums + (total,)
            new_counts = new_counts + (count,)
    else:
        for c in tl.static_range(len(counts)):
            hit = label == class_numbers(c, CHUNK)
            new_counts = new_counts + (counts[c] + fold(hit.to(tl.int32), VECTOR),)
            if len(sums) > 0:
                new_sums = new_sums + (sums[c] + fold(tl.where(hit, values, 0.0), VECTOR),)
    return new_counts, new_sums


@triton.jit
def add_shares(expected, e, inverse, VECTOR: tl.constexpr):
    """Σ e / Σe of each class; ``inverse`` is 0 at pixels that do not count."""
    total = ()
    for c in tl.static_range(len(e)):
        one = expected[c]
        if e[c].shape[0] == 1:
            parts, inverses = pieces(e[c], VECTOR), pieces(inverse, VECTOR)
            for v in tl.static_range(VECTOR):
                one += parts[v] * inverses[v]
        else:
            one += fold(e[c] * inverse, VECTOR)
        total = total + (one,)
    return total


@triton.jit
def add_sections(counts, values, valid, thresholds, TIES: tl.constexpr, VECTOR: tl.constexpr):
    """How many values are above each threshold but the first; with TIES also those that are equal to it."""
    new = ()
    parts = pieces(values, VECTOR)
    counted = pieces(valid.to(tl.int32), VECTOR)
    for m in tl.static_range(len(counts)):
        count = counts[m]
        for v in tl.static_range(VECTOR):
            above = parts[v] >= thresholds[m + 1] if TIES else parts[v] > thresholds[m + 1]
            count = tl.where(above, count + counted[v], count)
        new = new + (count,)
    return new


@triton.jit
def hand_on_class(own, counts, fields, unit, c: tl.constexpr, K: tl.constexpr, KB: tl.constexpr, CHUNK: tl.constexpr):
    """Add the program's pixels of each class of chunk ``c`` to ``own``, and behind them the sums in ``fields``.

    A class by itself is a number: of each tensor that is added, the compiler would look at the whole kernel.
    """
    if CHUNK == 1:
        pixels = tl.sum((counts[c // 2] >> (0 if c % 2 == 0 else 16)) & 65535, axis=1)
        tl.atomic_add(own + c, tl.sum(pixels, axis=0).to(tl.int64), sem="relaxed")
    else:
        classes = c * CHUNK + tl.arange(0, CHUNK)
        tl.atomic_add(own + classes, tl.sum(counts[c], axis=1).to(tl.int64), mask=classes < K, sem="relaxed")
    for f in tl.static_range(len(fields)):
        if len(fields[f]) > 0:
            found = tl.sum(fields[f][c], axis=1)
            if CHUNK == 1:
                whole = whole_number(tl.sum(found, axis=0).to(tl.float64), unit)
                tl.atomic_add(own + (f + 1) * KB + c, whole, sem="relaxed")
            else:
                whole = whole_number(found.to(tl.float64), unit)
                tl.atomic_add(own + (f + 1) * KB + classes, whole, mask=classes < K, sem="relaxed")


@triton.jit
def whole_number(value, unit):
    """A sum as a whole number of 1 / unit; NaN, for which there is none, is 0."""
    return (tl.where(value == value, value, 0.0) * unit).to(tl.int64)


@triton.jit
def set_bit(bits, condition, NUMBER: tl.constexpr):
    """Bit NUMBER of int32 numbers, where the condition holds."""
    if NUMBER < 31:
        return tl.where(condition, bits | (1 << NUMBER), bits)
    else:
        return tl.where(condition, bits | -2147483648, bits)


@triton.jit
def either(one, other):
    """The bits of both."""
    return one | other
