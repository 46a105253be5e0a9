"""Block sizes and numbers of programs, as tuned on an H200 (benchmarks/kernel_notes.md)."""

from typing import NamedTuple

import torch


class Shape(NamedTuple):
    """CHUNK classes by BLOCK pixels at a time, VECTOR neighbours in a thread; WAVES programs on a multiprocessor."""

    chunk: int
    block: int
    warps: int
    vector: int
    waves: int


class WordShape(NamedTuple):
    """How a program of the kernels by words goes over its pixels.

    It reads CHUNK classes by BLOCK pixels at a time, of which a thread holds VECTOR neighbours, in words of so many
    BYTES, or one by one if that is 0. WAVES programs are there for each multiprocessor. RUNS: the VECTOR · K values of
    those pixels lie in one line, and the gradient's are turned around among the threads before they are written.
    GATHERED: what belongs to a label is read at its place.
    """

    chunk: int
    block: int
    warps: int
    vector: int
    waves: int
    bytes: int
    runs: bool
    gathered: bool


class PieceShape(NamedTuple):
    """How a program of the kernels for upsampled logits goes over its pixels.

    CHUNK classes at a time, a piece of the pixels in each of BLOCK lanes: up to COLUMNS by LINES of them, and no more
    than PIXELS. WAVES programs are there for each multiprocessor; a thread has at most so many REGISTERS, 0 for any.
    """

    chunk: int
    block: int
    warps: int
    columns: int
    lines: int
    pixels: int
    waves: int
    registers: int

    @property
    def options(self) -> dict[str, int]:
        """For Triton's compiler; the limit is known to that for NVIDIA's GPUs alone."""
        return {"maxnreg": self.registers} if self.registers and torch.version.hip is None else {}


# Up to here the classes are unrolled, so that none is padding.
MOST_UNROLLED = 32
# From here on it is cheaper to read what belongs to a label again than to compare the label with all classes.
FEWEST_GATHERED = 6
# The sums of more classes than these, in chunks of 8, do not fit the registers of a thread.
MOST_IN_CHUNKS = 160
# The same for the gradient of several neighbouring pixels, for which two softmaxes are alive as well.
MOST_IN_LINES = 25


def chunk_of(classes: int, classes_last: bool, writes: bool) -> int:
    """How many classes one tensor of a tile holds.

    With the classes last in memory, unrolled loads meet in the cache, but unrolled stores of single classes do not
    meet anywhere; padding to a power of two is the lesser cost there.
    """
    padded = power_of_two(classes)
    if classes_last and (classes > MOST_UNROLLED or (classes >= 4 and (writes or padded == classes))):
        return padded
    return 1 if classes <= MOST_UNROLLED else power_of_two((classes + 15) // 16)


def forward_shape(classes: int, classes_last: bool, itemsize: int) -> Shape:
    """For the forward kernel: a thread holds all classes of a few pixels, and one sum for each class and field."""
    shape = _shape(classes, chunk_of(classes, classes_last, writes=False), classes_last, itemsize, 64)
    # Each program ends with a reduction over its threads, so there are no more of them than run at once.
    return shape._replace(waves=max(1, (16 if shape.vector * classes <= 48 else 12) // shape.warps))


def backward_shape(classes: int, classes_last: bool, itemsize: int) -> Shape:
    """For the backward kernel, which holds two softmaxes at once, but no sums."""
    shape = _shape(classes, chunk_of(classes, classes_last, writes=True), classes_last, itemsize, 40)
    return shape._replace(waves=max(1, 32 // shape.warps))


def word_sums_shape(classes: int, memory: str, itemsize: int, word: int) -> WordShape | None:
    """For sums by words, where they were measured to be the fastest; None where the other kernel is.

    ``memory`` is what :func:`sizewise.stats.kernels.layout.memory_of` says, ``word`` the bytes that fit at once.
    Each program ends with a reduction over its threads, so there are no more of them than run at once.
    """
    if itemsize > 4 or classes < FEWEST_GATHERED:
        return None
    if classes > MOST_UNROLLED:
        return WordShape(8, 16, 1, 4, 8, 8, False, True) if goes_in_chunks(classes, memory, itemsize, word) else None
    if memory != "pixels":  # neighbouring reads meet in the cache, whatever their width
        return WordShape(1, 32, 1, 1, 16, 0, False, True)
    if word == 0:
        return None
    return WordShape(1, 64, 1, 2, 12 if itemsize == 4 else 16, 2 * itemsize, False, True)


def word_gradient_shape(classes: int, memory: str, itemsize: int, word: int) -> WordShape | None:
    """The same for the gradient by words.

    With the classes last and a power of two of them, the other kernel has no padding, and neighbouring threads write
    neighbouring classes by themselves.
    """
    if itemsize > 4 or word == 0 or classes < FEWEST_GATHERED:
        return None
    if classes > MOST_UNROLLED:
        return WordShape(8, 16, 1, 4, 32, 8, False, True) if goes_in_chunks(classes, memory, itemsize, word) else None
    if memory == "pixels":
        lines = WordShape(1, 32 * word // itemsize, 1, word // itemsize, 32, word, False, True)
        return lines if classes <= MOST_IN_LINES else None
    if classes == power_of_two(classes):
        return None
    return WordShape(1, 64, 1, 2, 12 if itemsize == 4 else 32, 2 * itemsize, True, True)


def goes_in_chunks(classes: int, memory: str, itemsize: int, word: int) -> bool:
    """Whether the classes of four neighbouring pixels are taken by eights: half types, measured with 150 classes."""
    return itemsize == 2 and memory == "pixels" and word == 8 and classes <= MOST_IN_CHUNKS


def piece_shape(classes: int) -> PieceShape:
    """For both kernels of upsampled logits: a warp, whose threads take what lies between four cells."""
    return PieceShape(min(4, power_of_two(classes)), 32, 1, 4, 4, 8, 12, 168)


def _shape(classes: int, chunk: int, classes_last: bool, itemsize: int, registers: int) -> Shape:
    """As many neighbouring pixels in a thread, up to 4, as leave its values within ``registers``."""
    padded = chunk * ((classes + chunk - 1) // chunk)
    budget = registers // (2 if itemsize == 8 else 1)
    if chunk == 1:
        vector = 1
        while vector < min(4, 16 // itemsize) and 2 * vector * padded <= budget:
            vector *= 2
        return Shape(1, 32 * vector, 1, vector, 1)
    block = 32 if padded <= 512 else 16
    warps = 1
    while warps < 16 and padded * block > 32 * warps * 40:
        warps *= 2
    return Shape(chunk, block, warps, 1 if classes_last else min(block, 16 // itemsize), 1)


def power_of_two(number: int) -> int:
    """The smallest power of two that is not below ``number``."""
    return 1 << (number - 1).bit_length()
