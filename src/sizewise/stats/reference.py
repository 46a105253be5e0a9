"""The one pass in plain torch: the specification of the operator, and the path for the CPU.

It streams over chunks of pixels, so that the only large tensor it ever allocates is the gradient. The mathematics is in
:mod:`sizewise.stats.binary` for two regions (a sigmoid channel is the two-class problem with logits (0, z)), and in
:mod:`sizewise.stats.multiclass` for more.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from sizewise.stats.binary import BinaryChunk
from sizewise.stats.chunks import DEVICE_CHUNK, Slices, chunk_elements, chunks
from sizewise.stats.fields import Kind
from sizewise.stats.masks import Masks
from sizewise.stats.multiclass import MulticlassChunk
from sizewise.stats.scratch import Scratch
from sizewise.stats.target_values import check_labels, check_probabilities, check_shares


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
    images, channels = logits.shape[:2]
    rows, regions = (images * channels, 2) if sigmoid else (images, channels)
    totals = torch.zeros(len(kinds), rows, regions, dtype=total_dtype(logits), device=logits.device)
    fields = list(zip(kinds, parameters, strict=True))
    for rows_here, _, chunk in iterate(logits, target, mask, ignore_index, sigmoid, kinds, checked=False):
        for total, value in zip(totals, chunk.sums(fields), strict=True):
            total[rows_here] += value
    shape = (len(kinds), images, channels, 2) if sigmoid else (len(kinds), images, channels)
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
    gradient = torch.empty_like(logits)
    coefficients = coefficients.flatten(1, -2)  # (fields, N, K) or (fields, N·C, 2)
    fields = list(zip(kinds, parameters, strict=True))
    for rows_here, where, chunk in iterate(logits, target, mask, ignore_index, sigmoid, kinds, checked=True):
        piece = gradient[where]
        if isinstance(chunk, BinaryChunk):
            out = torch.empty_like(chunk.difference)
            chunk.gradient(coefficients[:, rows_here], fields, out)
            foreground = piece if sigmoid else piece[:, 1:]
            foreground.copy_(out.view(foreground.shape))
            if not sigmoid:
                torch.neg(foreground, out=piece[:, :1])
            continue
        direct = piece.dtype == coefficients.dtype and piece[0, 0].is_contiguous()
        out = piece.flatten(2) if direct else chunk.scratch("gradient", *chunk.shape)
        chunk.gradient(coefficients[:, rows_here], fields, out)
        if not direct:
            piece.copy_(out.view(piece.shape))
    return gradient


def iterate(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    checked: bool,
) -> Iterator[tuple[slice, Slices, BinaryChunk | MulticlassChunk]]:
    """Yield for each chunk: its rows in the sums, its place in the logits, and the chunk itself.

    ``checked`` skips the checks of the target's values, which the forward pass has made.
    """
    images, channels, *spatial = logits.shape
    groups, regions = (channels, 2) if sigmoid else (1, channels)
    elements = chunk_elements(logits.numel()) if logits.device.type == "cpu" else DEVICE_CHUNK
    scratch = Scratch(compute_dtype(logits.dtype), logits.device)
    for batch, piece in chunks(images, channels, tuple(spatial), elements):
        where = (batch, slice(None), *piece)
        rows = slice(batch.start * groups, batch.stop * groups)
        z = logits[where].flatten(2).to(scratch.dtype)
        y = target[where].flatten(2)
        shape = rows.stop - rows.start, z.shape[-1]
        kept = None if mask is None else mask[where].flatten(2).expand(-1, groups, -1).reshape(shape)
        valid = kept
        if y.dtype.is_floating_point:
            y = y.to(scratch.dtype)
            if not checked:
                check_shares(y.reshape(shape), kept) if sigmoid else check_probabilities(y, kept)
        else:
            y = y.reshape(shape).long()
            if ignore_index is not None and can_hold(target.dtype, ignore_index):
                labelled = y != ignore_index
                valid = labelled if kept is None else kept & labelled
            if not checked:
                check_labels(y, valid, regions, ignore_index, target.dtype)
        masks = Masks(shape, valid, kept, unlabelled=Kind.KEPT_SIZE in kinds)
        if regions > 2:
            yield rows, where, MulticlassChunk(z, y, masks, scratch)
        else:
            difference = z.reshape(shape) if sigmoid else z[:, 1] - z[:, 0]
            hard = not y.dtype.is_floating_point
            yield rows, where, BinaryChunk(difference, two_shares(y, shape, sigmoid, scratch.dtype), hard, masks)


def two_shares(y: Tensor, shape: tuple[int, int], sigmoid: bool, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The target's shares of background and foreground, each (B, M), from labels or probabilities."""
    if y.dtype.is_floating_point and not sigmoid:
        return y[:, 0], y[:, 1]
    foreground = y.reshape(shape).to(dtype)
    return 1 - foreground, foreground


def can_hold(dtype: torch.dtype, ignore_index: int) -> bool:
    """Whether labels of this dtype can equal ``ignore_index``: 2^64 − 1 becomes −1 as int64, but is not."""
    return ignore_index >= 0 or dtype.is_signed


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for everything but float64: sums of half-precision logits overflow and lose their digits."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def total_dtype(logits: Tensor) -> torch.dtype:
    """Chunks add up in float64, so that the number of chunks leaves no trace; Apple's GPUs have none."""
    return torch.float32 if logits.device.type == "mps" else torch.float64
