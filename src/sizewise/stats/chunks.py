"""Cutting a batch into pieces that fit the cache, so that memory stays flat whatever the image size."""

from collections.abc import Iterator
from math import prod

# Timed from 2^14 to 2^21 elements on two cores: every operation of a chunk has an overhead, so fewer and larger chunks
# win until memory sets the limit. All threads together hold these shares of a small input in each of their buffers, of
# which two regions need more than many classes.
LARGEST_CHUNK = 1 << 21
SMALLEST_CHUNK = 1 << 15
BINARY_SHARE = 10
MULTICLASS_SHARE = 6
# Where the logits are smaller than the target, all threads' buffers together stay below 32 MB.
UPSAMPLED_CHUNKS = 1 << 20
# Other devices want long launches; their memory stays flat as well.
DEVICE_CHUNK = 1 << 24

Slices = tuple[slice, ...]
Place = tuple[slice, Slices]


def chunk_elements(elements: int, threads: int, regions: int) -> int:
    """How many of an input's ``elements`` each thread takes at a time."""
    share = BINARY_SHARE if regions == 2 else MULTICLASS_SHARE
    return min(LARGEST_CHUNK, max(SMALLEST_CHUNK, elements // (share * threads)))


def chunks(images: int, channels: int, spatial: tuple[int, ...], elements: int) -> Iterator[Place]:
    """Yield (images, spatial) slices that cover a (N, channels, *spatial) tensor, about ``elements`` at a time.

    Small images go several to a piece, large ones are cut along their leading axes. Slicing, unlike flattening, never
    copies a strided tensor as a whole.

    >>> list(chunks(2, 1, (4, 8), 16))[0]
    (slice(0, 1, None), (slice(0, 2, None), slice(0, 8, None)))
    """
    pixels = max(1, elements // max(1, channels))
    images_per_chunk = max(1, pixels // max(1, prod(spatial)))
    for first in range(0, images, images_per_chunk):
        for piece in _pieces(spatial, pixels):
            yield slice(first, min(first + images_per_chunk, images)), piece


def _pieces(spatial: tuple[int, ...], pixels: int) -> Iterator[Slices]:
    if prod(spatial) == 0:
        return
    if not spatial:
        yield ()
        return
    length, rest = spatial[0], spatial[1:]
    step = pixels // prod(rest)
    if step >= 1:
        for start in range(0, length, step):
            yield (slice(start, min(start + step, length)), *(slice(0, size) for size in rest))
        return
    for start in range(length):
        for piece in _pieces(rest, pixels):
            yield (slice(start, start + 1), *piece)
