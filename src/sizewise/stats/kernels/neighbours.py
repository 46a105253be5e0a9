"""Neighbouring pixels that one thread holds in one tensor, added up or taken apart."""

# Triton compiles these functions: arguments are what it makes of them, and every branch needs its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl


@triton.jit
def fold(values, VECTOR: tl.constexpr):
    """Add up the neighbouring pixels that one thread holds: (CHUNK, BLOCK) to (CHUNK, BLOCK / VECTOR)."""
    return tl.sum(tl.reshape(values, [values.shape[0], values.shape[1] // VECTOR, VECTOR]), axis=2)


@triton.jit
def pieces(values, VECTOR: tl.constexpr):
    """The 1st, 2nd, … of each VECTOR neighbouring pixels, as VECTOR tensors of shape (CHUNK, BLOCK / VECTOR)."""
    rows: tl.constexpr = values.shape[0]
    parts: tl.constexpr = values.shape[1] // VECTOR
    if VECTOR == 1:
        return (values,)
    elif VECTOR == 2:
        return tl.split(tl.reshape(values, [rows, parts, 2]))
    else:
        tl.static_assert(VECTOR == 4)
        even, odd = tl.split(tl.reshape(values, [rows, parts, 2, 2]))
        a, c = tl.split(even)
        b, d = tl.split(odd)
        return (a, b, c, d)
