"""What a program keeps of its cells, in order: neighbours in a thread, then classes, then regions and fields.

Each value is a tensor of its own, with a pixel for each lane.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.forward import pieces


@triton.jit
def apart(values, VECTOR: tl.constexpr):
    """Tensors of BLOCK pixels as VECTOR tuples of tensors with a pixel for each lane."""
    found = ()
    for i in tl.static_range(len(values)):
        found = found + (pieces(values[i], VECTOR),)
    turned = ()
    for g in tl.static_range(VECTOR):
        one = ()
        for i in tl.static_range(len(values)):
            one = one + (found[i][g],)
        turned = turned + (one,)
    return turned


@triton.jit
def every(values, number: tl.constexpr, COUNT: tl.constexpr, SIZE: tl.constexpr):
    """Of groups of COUNT groups of SIZE values the ``number``-th inner group of each, in one tuple."""
    found = ()
    for g in tl.static_range(len(values) // (COUNT * SIZE)):
        for f in tl.static_range(SIZE):
            found = found + (values[(g * COUNT + number) * SIZE + f],)
    return found


@triton.jit
def value_at(values, place):
    """values[place], for a place that only the running program knows."""
    found = values[0]
    for i in tl.static_range(1, len(values)):
        found = tl.where(place == i, values[i], found)
    return found


@triton.jit
def number_at(NUMBERS: tl.constexpr, place):
    """NUMBERS[place], for a place that only the running program knows."""
    found = tl.full([], NUMBERS[0], tl.int32)
    for i in tl.static_range(1, len(NUMBERS)):
        found = tl.where(place == i, NUMBERS[i], found)
    return found
