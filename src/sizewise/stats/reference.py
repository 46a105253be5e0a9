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
from sizewise.stats.chunks import DEVICE_CHUNK, Place, Slices, chunk_elements, chunks
from sizewise.stats.fields import Kind
from sizewise.stats.masks import Masks
from sizewise.stats.multiclass import MulticlassChunk
from sizewise.stats.scratch import Scratch
from sizewise.stats.target_values import check_labels, check_probabilities, check_shares
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
) -> Tensor:
    """All the sums, as (fields, N, K), or (fields, N, C, 2) with ``sigmoid``."""
    given = Input(logits, target, mask, ignore_index, sigmoid, unlabelled=Kind.KEPT_SIZE in kinds)
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
) -> Tensor:
    """Σ over fields of ∂L/∂field · ∂field/∂logits, with the logits' shape and dtype."""
    given = Input(logits, target, mask, ignore_index, sigmoid, unlabelled=Kind.KEPT_SIZE in kinds)
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

    given.map(write, given.places())
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
        unlabelled: bool,
    ) -> None:
        self.logits, self.target, self.mask = logits, target, mask
        self.ignore_index, self.sigmoid, self.unlabelled = ignore_index, sigmoid, unlabelled
        self.images, self.channels, *spatial = logits.shape
        self.spatial = tuple(spatial)
        self.groups, self.regions = (self.channels, 2) if sigmoid else (1, self.channels)
        # Chunks add up in float64, so that their number leaves no trace; Apple's GPUs have none.
        self.total_dtype = torch.float32 if logits.device.type == "mps" else torch.float64

    def places(self) -> list[Place]:
        """Where the chunks are."""
        on_cpu = self.logits.device.type == "cpu"
        threads = torch.get_num_threads()
        elements = chunk_elements(self.logits.numel(), threads, self.regions) if on_cpu else DEVICE_CHUNK
        return list(chunks(self.images, self.channels, self.spatial, elements))

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
        z = self.logits[where].flatten(2).to(scratch.dtype)
        y = self.target[where].flatten(2)
        shape = rows.stop - rows.start, z.shape[-1]
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
        if self.regions > 2:
            return MulticlassChunk(z, y, masks, scratch)
        if not self.sigmoid:
            return BinaryChunk(torch.sub(z[:, 1], z[:, 0], out=scratch("difference", *shape)), y, masks, scratch)
        if y.dtype.is_floating_point:
            y = y.reshape(shape)
            y = torch.stack((1 - y, y), 1)
        return BinaryChunk(z.reshape(shape), y, masks, scratch)


def can_hold(dtype: torch.dtype, ignore_index: int) -> bool:
    """Whether labels of this dtype can equal ``ignore_index``: 2^64 − 1 becomes −1 as int64, but is not."""
    return ignore_index >= 0 or dtype.is_signed


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for everything but float64: sums of half-precision logits overflow and lose their digits."""
    return torch.float64 if dtype == torch.float64 else torch.float32
