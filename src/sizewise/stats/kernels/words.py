"""Several values read as one word, and taken apart in registers.

A thread reads VECTOR neighbouring pixels of a class as one integer of 4 or 8 bytes. With the classes last in memory,
the VECTOR · K values of its pixels lie in one line, and each of K words holds VECTOR of them. The thread then works on
one pixel after the other, so that only one softmax is alive while the words wait in registers as they came.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505, SIM300

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import PTX
from sizewise.stats.kernels.raw_access import read, write


@triton.jit
def word_places(
    start,
    per_class,
    offsets,
    c: tl.constexpr,
    CHUNK: tl.constexpr,
    VECTOR: tl.constexpr,
    BYTES: tl.constexpr,
    RUNS: tl.constexpr,
):
    """Pointers to the words of chunk ``c``; ``offsets`` are those of each thread's first pixel."""
    if RUNS:
        places = start + offsets + c * VECTOR  # one address, and constants
    elif CHUNK == 1:
        places = start + c * tl.full([], per_class, tl.int64) + offsets
    else:
        per_class = tl.full([], per_class, tl.int64)
        places = start + (tl.arange(0, CHUNK)[:, None] * per_class + offsets) + c * CHUNK * per_class
    return places.to(tl.pointer_type(tl.int64 if BYTES == 8 else tl.int32))


@triton.jit
def load_words(
    start,
    per_class,
    offsets,
    inside,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    VECTOR: tl.constexpr,
    BYTES: tl.constexpr,
    RUNS: tl.constexpr,
    EVEN: tl.constexpr,
):
    """The tile as a tuple of words; 0 for classes past K."""
    words = ()
    for c in tl.static_range((K + CHUNK - 1) // CHUNK):
        places = word_places(start, per_class, offsets, c, CHUNK, VECTOR, BYTES, RUNS)
        if (c + 1) * CHUNK <= K:
            word = read(places, inside, EVEN)
        else:
            word = read(places, inside & (c * CHUNK + tl.arange(0, CHUNK)[:, None] < K), False)
        words = words + (word,)
    return words


@triton.jit
def unpacked(word, i: tl.constexpr, STORED: tl.constexpr, DTYPE: tl.constexpr):
    """The i-th value of a word."""
    if STORED == tl.float32:
        return (word >> (32 * i)).to(tl.int32).to(tl.float32, bitcast=True).to(DTYPE)
    else:
        half = (word >> (32 * (i // 2))).to(tl.int32)
        if STORED == tl.bfloat16:  # the upper half of a float32
            bits = half << 16 if i % 2 == 0 else half & -65536
            return bits.to(tl.float32, bitcast=True).to(DTYPE)
        else:
            return (half >> (16 * (i % 2))).to(tl.int16).to(STORED, bitcast=True).to(DTYPE)


@triton.jit
def unpacked_classes(
    words,
    g: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    VECTOR: tl.constexpr,
    RUNS: tl.constexpr,
    STORED: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The logits of each thread's g-th pixel, as a tuple of chunks; −∞ for classes past K."""
    chunks = ()
    for c in tl.static_range(len(words)):
        if RUNS:
            value = unpacked(words[(g * K + c) // VECTOR], (g * K + c) % VECTOR, STORED, DTYPE)
        else:
            value = unpacked(words[c], g, STORED, DTYPE)
            if (c + 1) * CHUNK > K:
                value = tl.where(c * CHUNK + tl.arange(0, CHUNK)[:, None] < K, value, -float("inf"))
        chunks = chunks + (value,)
    return chunks


@triton.jit
def packed_pair(first, second, STORED: tl.constexpr):
    """Two values of 16 bits as an int32."""
    if PTX and STORED == tl.bfloat16:  # one instruction, where two roundings and a merge would be six
        return tl.inline_asm_elementwise(
            "cvt.rn.bf16x2.f32 $0, $2, $1;",
            "=r,f,f",
            [first.to(tl.float32), second.to(tl.float32)],
            dtype=tl.int32,
            is_pure=True,
            pack=1,
        )
    else:
        low = first.to(STORED).to(tl.uint16, bitcast=True).to(tl.uint32)
        return (low | (second.to(STORED).to(tl.uint16, bitcast=True).to(tl.uint32) << 16)).to(tl.int32, bitcast=True)


@triton.jit
def joined(low, high):
    """Two int32 as an int64."""
    return low.to(tl.uint32, bitcast=True).to(tl.int64) | (high.to(tl.int64) << 32)


@triton.jit
def packed(values, STORED: tl.constexpr):
    """A word of such values."""
    if STORED == tl.float32:
        return joined(values[0].to(tl.int32, bitcast=True), values[1].to(tl.int32, bitcast=True))
    elif len(values) == 2:
        return packed_pair(values[0], values[1], STORED)
    else:
        return joined(packed_pair(values[0], values[1], STORED), packed_pair(values[2], values[3], STORED))


@triton.jit
def columns(words, LEVELS: tl.constexpr):
    """2^LEVELS tensors (1, n) as the columns of one tensor, in their order: each join adds a lower digit."""
    parts = ()
    for i in tl.static_range(len(words)):
        parts = parts + (tl.reshape(words[i], [words[i].shape[1], 1]),)
    for _level in tl.static_range(LEVELS):
        joined_parts = ()
        for i in tl.static_range(len(parts) // 2):
            both = tl.join(parts[i], parts[i + len(parts) // 2])
            joined_parts = joined_parts + (tl.reshape(both, [both.shape[0], both.shape[1] * 2]),)
        parts = joined_parts
    return parts[0]


@triton.jit
def store_turned(start, offsets, inside, words, K: tl.constexpr, VECTOR: tl.constexpr, BYTES: tl.constexpr):
    """Write the K words of each thread's run, with neighbouring threads at neighbouring words.

    A word of each thread at a time would be a part of a sector for each, which takes as long as the whole sector.
    """
    LEVELS: tl.constexpr = 0 if K == 1 else 1 if K == 2 else 2 if K <= 4 else 3 if K <= 8 else 4 if K <= 16 else 5
    WIDTH: tl.constexpr = 1 << LEVELS
    for _w in tl.static_range(K, WIDTH):
        words = words + (tl.zeros_like(words[0]),)
    runs: tl.constexpr = words[0].shape[1]
    number = tl.arange(0, WIDTH)[None, :]
    places = tl.reshape(offsets, [runs, 1]) // VECTOR + number
    whole = start.to(tl.pointer_type(tl.int64 if BYTES == 8 else tl.int32))
    tl.store(whole + places, columns(words, LEVELS), mask=tl.reshape(inside, [runs, 1]) & (number < K))


@triton.jit
def store_words(
    start,
    per_class,
    offsets,
    inside,
    values,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    VECTOR: tl.constexpr,
    BYTES: tl.constexpr,
    RUNS: tl.constexpr,
    STORED: tl.constexpr,
    EVEN: tl.constexpr,
):
    """Write values[g][c], the g-th pixel's class c, where :func:`load_words` reads it."""
    words = ()
    for c in tl.static_range((K + CHUNK - 1) // CHUNK):
        own = ()
        for i in tl.static_range(VECTOR):
            if RUNS:
                own = own + (values[(c * VECTOR + i) // K][(c * VECTOR + i) % K],)
            else:
                own = own + (values[i][c],)
        words = words + (packed(own, STORED),)
    if RUNS:
        store_turned(start, offsets, inside, words, K, VECTOR, BYTES)
    else:
        for c in tl.static_range(len(words)):
            places = word_places(start, per_class, offsets, c, CHUNK, VECTOR, BYTES, False)
            if (c + 1) * CHUNK <= K:
                write(places, words[c], inside, EVEN)
            else:
                write(places, words[c], inside & (c * CHUNK + tl.arange(0, CHUNK)[:, None] < K), False)


@triton.jit
def store_one_by_one(start, per_class, offsets, inside, chunks, K: tl.constexpr, CHUNK: tl.constexpr):
    """Write one pixel of each thread."""
    per_class = tl.full([], per_class, tl.int64)
    for c in tl.static_range((K + CHUNK - 1) // CHUNK):
        value = chunks[c].to(start.dtype.element_ty)
        if CHUNK == 1:
            tl.store(start + c * per_class + offsets, value, mask=inside)
        else:
            classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
            tl.store(start + classes * per_class + offsets, value, mask=inside & (classes < K))
