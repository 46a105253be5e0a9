"""The one pass in plain torch: the specification of the operator, and the path for the CPU.

It streams over chunks of pixels, so that the only large tensor it ever allocates is the gradient. A sigmoid channel is
the two-class problem with logits (0, z), so there is one copy of the mathematics, in :mod:`sizewise.stats.chunk`.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from sizewise.stats.chunk import Chunk
from sizewise.stats.chunks import DEVICE_CHUNK, Slices, chunk_elements, chunks
from sizewise.stats.fields import Kind
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
        direct = not sigmoid and piece.dtype == coefficients.dtype and piece[0, 0].is_contiguous()
        out = piece.flatten(2) if direct else chunk.scratch("gradient", *chunk.shape)
        chunk.gradient(coefficients[:, rows_here], fields, out)
        if not direct:
            piece.copy_((out[:, 1] if sigmoid else out).reshape(piece.shape))
    return gradient


def iterate(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    checked: bool,
) -> Iterator[tuple[slice, Slices, Chunk]]:
    """Yield for each chunk: its rows in the sums, its place in the logits, and the chunk itself.

    ``checked`` skips the checks of the target's values, which the forward pass has made.
    """
    images, channels, *spatial = logits.shape
    groups, regions = (channels, 2) if sigmoid else (1, channels)
    unlabelled = Kind.KEPT_SIZE in kinds
    elements = chunk_elements(logits.numel()) if logits.device.type == "cpu" else DEVICE_CHUNK
    scratch = Scratch(compute_dtype(logits.dtype), logits.device)
    for batch, piece in chunks(images, groups * regions, tuple(spatial), elements):
        where = (batch, slice(None), *piece)
        rows = slice(batch.start * groups, batch.stop * groups)
        count = rows.stop - rows.start
        z = logits[where].flatten(2).to(scratch.dtype)
        y = target[where].flatten(2)
        kept = None
        if mask is not None:
            kept = mask[where].flatten(2).expand(-1, groups, -1).reshape(count, -1)
        if sigmoid:
            z = z.reshape(count, 1, -1)
            z = torch.cat((torch.zeros_like(z), z), 1)
        valid = kept
        if y.dtype.is_floating_point:
            y = y.to(scratch.dtype)
            if sigmoid:
                y = y.reshape(count, 1, -1)
                if not checked:
                    check_shares(y.squeeze(1), kept)
                y = torch.cat((1 - y, y), 1)
            elif not checked:
                check_probabilities(y, kept)
        else:
            y = y.reshape(count, -1).long()
            if ignore_index is not None:
                labelled = y != ignore_index
                valid = labelled if kept is None else kept & labelled
            if not checked:
                check_labels(y, valid, regions, ignore_index)
        yield rows, where, Chunk(z, y, drop_if_full(valid), drop_if_full(kept), unlabelled, scratch)


def drop_if_full(inside: Tensor | None) -> Tensor | None:
    """``None`` where every pixel is inside, which saves the masking; asked only where the answer costs no wait."""
    return None if inside is not None and inside.device.type == "cpu" and bool(inside.all()) else inside


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for everything but float64: sums of half-precision logits overflow and lose their digits."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def total_dtype(logits: Tensor) -> torch.dtype:
    """Chunks add up in float64, so that the number of chunks leaves no trace; Apple's GPUs have none."""
    return torch.float32 if logits.device.type == "mps" else torch.float64
