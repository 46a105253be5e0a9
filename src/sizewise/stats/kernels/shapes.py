"""Block sizes and numbers of programs, as tuned on an H200 (benchmarks/kernel_notes.md)."""

from typing import NamedTuple


class Shape(NamedTuple):
    """CHUNK classes by BLOCK pixels at a time, in WARPS warps, VECTOR neighbours in a thread; WAVES programs at once."""

    chunk: int
    block: int
    warps: int
    vector: int
    waves: int


# Up to here the classes are unrolled, so that none is padding.
MOST_UNROLLED = 32


def chunk_of(classes: int, classes_last: bool) -> int:
    """How many classes one tensor of a tile holds."""
    if classes <= MOST_UNROLLED and not (classes_last and classes >= 4 and power_of_two(classes) == classes):
        return 1
    if classes_last:
        return power_of_two(classes)
    return power_of_two((classes + 15) // 16)


def forward_shape(classes: int, classes_last: bool, itemsize: int) -> Shape:
    """For the forward kernel: a thread holds all classes of a few pixels, and one sum for each class and field."""
    return _shape(classes, classes_last, itemsize, 40)


def backward_shape(classes: int, classes_last: bool, itemsize: int) -> Shape:
    """For the backward kernel, which holds two softmaxes at once, but no sums."""
    return _shape(classes, classes_last, itemsize, 64)


def _shape(classes: int, classes_last: bool, itemsize: int, registers: int) -> Shape:
    chunk = chunk_of(classes, classes_last)
    padded = chunk * ((classes + chunk - 1) // chunk)
    budget = registers // (2 if itemsize == 8 else 1)
    if chunk == 1:
        vector = 1
        while vector < min(8, 16 // itemsize) and 2 * vector * padded <= budget:
            vector *= 2
        return Shape(1, 32 * vector, 1, vector, 16)
    block = 32 if padded <= 512 else 16
    warps = 1
    while warps < 16 and padded * block > 32 * warps * budget:
        warps *= 2
    vector = 1 if classes_last else min(block, 16 // itemsize)
    return Shape(chunk, block, warps, vector, max(1, 16 // warps))


def power_of_two(number: int) -> int:
    """The smallest power of two that is not below ``number``."""
    return 1 << (number - 1).bit_length()
