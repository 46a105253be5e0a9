"""Neighbouring pixels that one thread holds, taken apart and put together again without leaving the thread.

A thread reads 16 bytes at a time where it can, which is several pixels of one class; or, with the classes last in
memory, a run of several pixels with all their classes. It then works on one pixel after the other, so that only one
softmax is alive, while the rest of what was read waits in registers as it came.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl


@triton.jit
def halves(values):
    """The even and the odd ones of neighbouring values: (rows, 2 n) to two of (rows, n)."""
    return tl.split(tl.reshape(values, [values.shape[0], values.shape[1] // 2, 2]))


@triton.jit
def pieces(values, COUNT: tl.constexpr):
    """The 1st, 2nd, … of each COUNT neighbouring values: (rows, n) to COUNT tensors of shape (rows, n / COUNT)."""
    if COUNT == 1:
        return (values,)
    elif COUNT == 2:
        return halves(values)
    else:
        even, odd = halves(values)
        even = pieces(even, COUNT // 2)
        odd = pieces(odd, COUNT // 2)
        whole = ()
        for i in tl.static_range(COUNT // 2):
            whole = whole + (even[i], odd[i])
        return whole


@triton.jit
def joined(values):
    """The inverse of :func:`pieces`."""
    if len(values) == 1:
        return values[0]
    else:
        even = ()
        odd = ()
        for i in tl.static_range(len(values) // 2):
            even = even + (values[2 * i],)
            odd = odd + (values[2 * i + 1],)
        even = joined(even)
        odd = joined(odd)
        both = tl.join(even, odd)
        return tl.reshape(both, [both.shape[0], both.shape[1] * 2])


@triton.jit
def pieces_of_classes(chunks, PIECES: tl.constexpr):
    """For each of PIECES neighbouring pixels a tuple of its classes."""
    if PIECES == 1:
        return (chunks,)
    else:
        apart = ()
        for c in tl.static_range(len(chunks)):
            apart = apart + (pieces(chunks[c], PIECES),)
        result = ()
        for g in tl.static_range(PIECES):
            one = ()
            for c in tl.static_range(len(chunks)):
                one = one + (apart[c][g],)
            result = result + (one,)
        return result


@triton.jit
def run_offsets(tile, v: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr, PIECES: tl.constexpr, WIDTH: tl.constexpr):
    """Where the v-th WIDTH values of each run of PIECES pixels lie, (1, runs, WIDTH), and the runs' first pixels."""
    first = tile * BLOCK + tl.arange(0, BLOCK // PIECES)[None, :, None] * PIECES
    return first * K + (v * WIDTH + tl.arange(0, WIDTH)[None, None, :]), first


@triton.jit
def run_inside(
    first, v: tl.constexpr, pixels, K: tl.constexpr, PIECES: tl.constexpr, WIDTH: tl.constexpr, WHOLE: tl.constexpr
):
    """Which of these values belong to a pixel of the image; WHOLE says that no run is cut off by its end."""
    if WHOLE:
        return first < pixels
    else:
        return first + (v * WIDTH + tl.arange(0, WIDTH)[None, None, :]) // K < pixels


@triton.jit
def load_runs(
    start,
    tile,
    pixels,
    K: tl.constexpr,
    BLOCK: tl.constexpr,
    PIECES: tl.constexpr,
    WIDTH: tl.constexpr,
    EVEN: tl.constexpr,
    WHOLE: tl.constexpr,
):
    """As :func:`pieces_of_classes`, where the classes of a pixel, and pixel after pixel, lie in one line."""
    flat = ()
    for v in tl.static_range(PIECES * K // WIDTH):
        offsets, first = run_offsets(tile, v, K, BLOCK, PIECES, WIDTH)
        if EVEN:
            values = tl.load(start + offsets)
        else:
            values = tl.load(start + offsets, mask=run_inside(first, v, pixels, K, PIECES, WIDTH, WHOLE), other=0.0)
        flat = flat + pieces(tl.reshape(values, [1, BLOCK // PIECES * WIDTH]), WIDTH)
    result = ()
    for g in tl.static_range(PIECES):
        one = ()
        for c in tl.static_range(K):
            one = one + (flat[g * K + c],)
        result = result + (one,)
    return result


@triton.jit
def store_runs(
    start,
    tile,
    pixels,
    values,
    K: tl.constexpr,
    BLOCK: tl.constexpr,
    PIECES: tl.constexpr,
    WIDTH: tl.constexpr,
    EVEN: tl.constexpr,
    WHOLE: tl.constexpr,
):
    """Write what :func:`load_runs` reads."""
    for v in tl.static_range(PIECES * K // WIDTH):
        some = ()
        for i in tl.static_range(WIDTH):
            some = some + (values[(v * WIDTH + i) // K][(v * WIDTH + i) % K],)
        offsets, first = run_offsets(tile, v, K, BLOCK, PIECES, WIDTH)
        whole = tl.reshape(joined(some), [1, BLOCK // PIECES, WIDTH])
        if EVEN:
            tl.store(start + offsets, whole)
        else:
            tl.store(start + offsets, whole, mask=run_inside(first, v, pixels, K, PIECES, WIDTH, WHOLE))
