"""The one pass in plain torch: the specification of the operator, and the path for the CPU.

It streams over chunks of pixels, so that the only large tensor it ever allocates is the gradient. The mathematics is in
:mod:`sizewise.stats.binary` for two regions (a sigmoid channel is the two-class problem with logits (0, z)), and in
:mod:`sizewise.stats.multiclass` for more.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from sizewise.stats.binary import BinaryChunk
from sizewise.stats.chunks import (
    DEVICE_CHUNK,
    SMALLEST_CHUNK,
    UPSAMPLED_CHUNKS,
    Place,
    Slices,
    chunk_elements,
    chunks,
)
from sizewise.stats.fields import Kind
from sizewise.stats.masks import Masks
from sizewise.stats.multiclass import MulticlassChunk
from sizewise.stats.scratch import Scratch
from sizewise.stats.target_values import check_labels, check_probabilities, check_shares
from sizewise.stats.upsampling import Enlargement, needed_upsample
from sizewise.stats.workers import map_chunks

Result = TypeVar("Result")


def region_sums(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    parameters: Sequence[float],
    upsample: str | None = None,
) -> Tensor:
    """All the sums, as (fields, N, K), or (fields, N, C, 2) with ``sigmoid``."""
    given = Input(logits, target, mask, ignore_index, sigmoid, upsample, unlabelled=Kind.KEPT_SIZE in kinds)
    fields = list(zip(kinds, parameters, strict=True))

    def sums(place: Place, scratch: Scratch) -> Tensor:
        chunk = given.chunk(place, scratch, checked=False)
        rows = given.rows(place)
        shape = (rows.stop - rows.start, given.regions)
        return torch.stack([one.to(logits.device, given.total_dtype).expand(shape) for one in chunk.sums(fields)])

    places = given.places()
    totals = torch.zeros(
        len(kinds), given.images * given.groups, given.regions, dtype=given.total_dtype, device=logits.device
    )
    # Added up in the order of the chunks, whoever finished first: the same bits every time.
    for place, values in zip(places, given.map(sums, places), strict=True):
        totals[:, given.rows(place)] += values
    shape = (len(kinds), *logits.shape[:2], 2) if sigmoid else (len(kinds), *logits.shape[:2])
    return totals.to(compute_dtype(logits.dtype)).view(shape)


def region_gradient(
    coefficients: Tensor,
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    parameters: Sequence[float],
    upsample: str | None = None,
) -> Tensor:
    """Σ over fields of ∂L/∂field · ∂field/∂logits, with the logits' shape and dtype."""
    given = Input(logits, target, mask, ignore_index, sigmoid, upsample, unlabelled=Kind.KEPT_SIZE in kinds)
    fields = list(zip(kinds, parameters, strict=True))
    coefficients = coefficients.flatten(1, -2)  # (fields, N, K) or (fields, N·C, 2)
    gradient = torch.empty_like(logits)

    def write(place: Place, scratch: Scratch) -> None:
        chunk = given.chunk(place, scratch, checked=True)  # the forward pass has checked the target
        piece = gradient[given.where(place)]
        two_classes = isinstance(chunk, BinaryChunk) and not sigmoid
        wanted = piece[:, 1:] if two_classes else piece
        # Straight into place where its pixels lie in one row, else by way of scratch memory.
        in_rows = wanted.is_contiguous() if sigmoid else wanted[0, 0].is_contiguous()
        direct = in_rows and wanted.dtype == scratch.dtype
        out = wanted.flatten(2).view(chunk.shape) if direct else scratch("gradient", *chunk.shape)
        chunk.gradient(coefficients[:, given.rows(place)], fields, out)
        if not direct:
            wanted.copy_(out.view(wanted.shape))
        if two_classes:
            torch.neg(wanted, out=piece[:, :1])

    def gather(place: Place, scratch: Scratch) -> None:
        """The small logits of one piece, from all pixels that touch them: nobody else writes there."""
        assert given.enlargement is not None
        pixels = given.enlargement.touching(place[1])
        chunk = given.chunk((place[0], pixels), scratch, checked=True)
        out = scratch("gradient", *chunk.shape)
        chunk.gradient(coefficients[:, given.rows(place)], fields, out)
        piece = gradient[given.where(place)]
        shape = len(piece), 1 if given.takes_difference else given.channels, *(one.stop - one.start for one in pixels)
        wanted = given.enlargement.reduced(out.view(shape), place[1])
        if given.takes_difference:
            piece[:, 1:].copy_(wanted)
            torch.neg(piece[:, 1:], out=piece[:, :1])
        else:
            piece.copy_(wanted)

    if given.enlargement is None:
        given.map(write, given.places())
    else:
        pixels = given.chunk_elements() // max(1, given.channels)
        given.map(gather, list(given.enlargement.places(given.images, pixels)))
    return gradient


class Input:
    """The operator's arguments, and how they are cut into chunks."""

    def __init__(
        self,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        ignore_index: int | None,
        sigmoid: bool,
        upsample: str | None,
        unlabelled: bool,
    ) -> None:
        self.logits, self.target, self.mask = logits, target, mask
        self.ignore_index, self.sigmoid, self.unlabelled = ignore_index, sigmoid, unlabelled
        self.images, self.channels, *small = logits.shape
        self.spatial = tuple(target.shape[2:])
        self.groups, self.regions = (self.channels, 2) if sigmoid else (1, self.channels)
        # A softmax over two classes needs their difference alone.
        self.takes_difference = self.regions == 2 and not sigmoid
        self.enlargement: Enlargement | None = None
        if needed_upsample(logits, target, upsample) is not None:
            assert upsample is not None
            self.enlargement = Enlargement(small, self.spatial, upsample)
        # Chunks add up in float64, so that their number leaves no trace; Apple's GPUs have none.
        self.total_dtype = torch.float32 if logits.device.type == "mps" else torch.float64

    def places(self) -> list[Place]:
        """Where the chunks are."""
        return list(chunks(self.images, self.channels, self.spatial, self.chunk_elements()))

    def chunk_elements(self) -> int:
        """How many logits of the full size a chunk holds."""
        if self.logits.device.type != "cpu":
            return DEVICE_CHUNK
        threads = torch.get_num_threads()
        if self.enlargement is not None:
            return max(SMALLEST_CHUNK, UPSAMPLED_CHUNKS // threads)
        return chunk_elements(self.logits.numel(), threads, self.regions)

    def map(self, work: Callable[[Place, Scratch], Result], places: list[Place]) -> list[Result]:
        """``work`` on every chunk; on the CPU by several threads."""
        dtype, device = compute_dtype(self.logits.dtype), self.logits.device
        if device.type == "cpu":
            return map_chunks(work, places, lambda: Scratch(dtype, device))
        scratch = Scratch(dtype, device)
        return [work(place, scratch) for place in places]

    def rows(self, place: Place) -> slice:
        """A chunk's rows in the sums, of which each image, or each channel of it, has one."""
        return slice(place[0].start * self.groups, place[0].stop * self.groups)

    def where(self, place: Place) -> Slices:
        """A chunk's place in the logits."""
        return (place[0], slice(None), *place[1])

    def chunk(self, place: Place, scratch: Scratch, *, checked: bool) -> BinaryChunk | MulticlassChunk:
        """The pixels of one place; ``checked`` skips the checks of the target's values."""
        where, rows = self.where(place), self.rows(place)
        y = self.target[where].flatten(2)
        shape = rows.stop - rows.start, y.shape[-1]
        kept = None if self.mask is None else self.mask[where].flatten(2).expand(-1, self.groups, -1).reshape(shape)
        valid = kept
        if y.dtype.is_floating_point:
            y = y.to(scratch.dtype)
            if not checked:
                check_shares(y.reshape(shape), kept) if self.sigmoid else check_probabilities(y, kept)
        else:
            y = y.reshape(shape).long()
            if self.ignore_index is not None and can_hold(self.target.dtype, self.ignore_index):
                labelled = y != self.ignore_index
                valid = labelled if kept is None else kept & labelled
            if not checked:
                check_labels(y, valid, self.regions, self.ignore_index, self.target)
        masks = Masks(shape, valid, kept, self.unlabelled)
        z = self.values(place, scratch)
        if self.regions > 2:
            return MulticlassChunk(z, y, masks, scratch)
        if self.sigmoid and y.dtype.is_floating_point:
            y = y.reshape(shape)
            y = torch.stack((1 - y, y), 1)
        return BinaryChunk(z.reshape(shape), y, masks, scratch)

    def values(self, place: Place, scratch: Scratch) -> Tensor:
        """The logits of one place, (B, K, M); of two classes their difference, (B, 1, M)."""
        pixels = place[1] if self.enlargement is None else self.enlargement.needed(place[1])
        z = self.logits[(place[0], slice(None), *pixels)].to(scratch.dtype)
        if self.takes_difference:
            shape = len(z), 1, *z.shape[2:]
            z = torch.sub(z[:, 1:], z[:, :1], out=scratch("difference", *shape))
        if self.enlargement is not None:
            z = self.enlargement.enlarged(z, place[1], scratch)
        return z.flatten(2)


def can_hold(dtype: torch.dtype, ignore_index: int) -> bool:
    """Whether labels of this dtype can equal ``ignore_index``: 2^64 − 1 becomes −1 as int64, but is not."""
    return ignore_index >= 0 or dtype.is_signed


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for everything but float64: sums of half-precision logits overflow and lose their digits."""
    return torch.float64 if dtype == torch.float64 else torch.float32
