"""Block sizes and numbers of programs, as tuned on an H200 (benchmarks/kernel_notes.md)."""

from typing import NamedTuple


class Shape(NamedTuple):
    """How a program goes over its pixels.

    It reads CHUNK classes by BLOCK pixels at a time, of which a thread holds VECTOR neighbours, in words of so many
    BYTES where that is not 0. WAVES programs are there for each multiprocessor. RUNS: the VECTOR · K values of those
    pixels lie in one line. GATHERED: what belongs to a label is read at its place.
    """

    chunk: int
    block: int
    warps: int
    vector: int
    waves: int
    bytes: int = 0
    runs: bool = False
    gathered: bool = False


# Up to here the classes are unrolled, so that none is padding.
MOST_UNROLLED = 32
# A thread reads at most so many bytes at once.
WORD = 8
# From here on it is cheaper to read what belongs to a label again than to compare the label with all classes.
FEWEST_GATHERED = 6
# So many classes of a pixel, and as many sums of each field, a thread can hold.
MOST_IN_A_THREAD = 20


def sums_shape(classes: int, memory: str, itemsize: int, word: int) -> Shape:
    """For the forward kernel: a thread holds all classes of a few pixels, and one sum for each class and field.

    ``memory`` is what :func:`sizewise.stats.kernels.layout.memory_of` says, ``word`` the bytes to read at once.
    """
    shape = words_shape(classes, memory, itemsize, word)
    # Each program ends with a reduction over its threads, so there are no more of them than run at once.
    return shape._replace(waves=max(1, (16 if shape.vector * classes <= 48 else 12) // shape.warps))


def gradient_shape(classes: int, memory: str, itemsize: int, word: int) -> Shape:
    """For the backward kernel, which holds two softmaxes at once, but no sums."""
    shape = words_shape(classes, memory, itemsize, word)
    return shape._replace(waves=max(1, 32 // shape.warps))


def words_shape(classes: int, memory: str, itemsize: int, word: int) -> Shape:
    """What both have in common."""
    vector = max(1, word // itemsize)
    gathered = classes >= FEWEST_GATHERED
    if classes <= MOST_UNROLLED:
        return Shape(1, 32 * vector, 1, vector, 1, word, memory == "runs" and vector > 1, gathered)
    if memory != "pixels":
        block = 32 if classes <= 512 else 16
        warps = 1
        while warps < 16 and power_of_two(classes) * block > 32 * warps * 40:
            warps *= 2
        return Shape(power_of_two(classes), block, warps, 1, 1, 0, False, gathered)
    # Four lanes side by side, the others below them: each holds every eighth class, or a smaller part with more warps.
    warps = 1
    while warps < 16 and classes > 8 * warps * MOST_IN_A_THREAD:
        warps *= 2
    return Shape(8 * warps, 4 * vector, warps, vector, 1, word, False, gathered)


def chunk_of(classes: int, classes_last: bool) -> int:
    """How many classes one tensor of a tile holds; with the classes last, unrolled loads meet in the cache."""
    padded = power_of_two(classes)
    if classes_last and (classes > MOST_UNROLLED or (classes >= 4 and padded == classes)):
        return padded
    return 1 if classes <= MOST_UNROLLED else power_of_two((classes + 15) // 16)


def forward_shape(classes: int, classes_last: bool, itemsize: int) -> Shape:
    """For kernels whose threads work on all their pixels at once: VECTOR neighbours of each class in one tensor."""
    shape = _shape(classes, chunk_of(classes, classes_last), classes_last, itemsize, 64)
    # Each program ends with a reduction over its threads, so there are no more of them than run at once.
    return shape._replace(waves=max(1, (16 if shape.vector * classes <= 48 else 12) // shape.warps))


def cells_shape(classes: int, columns: int, width: int) -> Shape:
    """For the backward kernel of upsampled logits: a lane for each column of pixels, at least ``columns`` of them.

    A warp's lanes exchange values among themselves, so few classes take one warp; with many each lane holds some of
    them, since seven values of each class are alive at a time.
    """
    chunk = 1 if classes <= MOST_UNROLLED else power_of_two((classes + 15) // 16)
    padded = chunk * ((classes + chunk - 1) // chunk)
    block = max(power_of_two(columns), min(32 if padded > 8 else 64, power_of_two(width)))
    warps = max(1, block // 64) if chunk == 1 else 4
    while warps < 16 and padded * block > 32 * warps * 20 and (chunk > 1 or block > 32 * warps):
        warps *= 2
    return Shape(chunk, block, warps, 1, max(1, 24 // warps))


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
