"""The sums per cell in plain torch: the specification of the operator, and the path for the CPU.

The same sums as those of an image, over the pixels of a cell. Each class has cells of its own, so (cell, class k) is
one number: cell m of class k. The result has a row for each image and cell number, and a column for each class. It
streams over chunks of pixels, as :mod:`sizewise.stats.reference` does.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from sizewise.stats.cell_chunk import CellChunk, CellInput
from sizewise.stats.chunks import Place
from sizewise.stats.fields import Kind
from sizewise.stats.focal import focal_slope
from sizewise.stats.reference import compute_dtype
from sizewise.stats.scratch import Scratch
from sizewise.stats.workers import map_chunks

# Sums over cells add numbers in any order on other devices, so there they are whole numbers of these fractions.
SHARE_BITS, LOSS_BITS = 32, 20
LARGEST_LOSS = 2.0**16
Result = TypeVar("Result")


def cell_sums(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    maps: Tensor,
    classes: Sequence[int],
    most: int,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    parameters: Sequence[float],
) -> Tensor:
    """The sums of every cell, (fields, N · most, K), or (fields, N · most, C, 2) with ``sigmoid``; 0 without a cell.

    Row n · most + m − 1 and column k belong to cell m of class k in image n.
    """
    call = CellInput(logits, target, mask, maps, classes, most, ignore_index, sigmoid)
    images, channels = logits.shape[:2]
    regions = 2 if sigmoid else 1
    total_dtype = torch.float32 if logits.device.type == "mps" else torch.float64
    totals = torch.zeros(len(kinds), images * most, channels, regions, dtype=total_dtype, device=logits.device)

    def sums(place: Place, scratch: Scratch) -> list[tuple[int, Tensor]]:
        chunk = call.chunk(place, checked=False)
        per_field = [chunk.value(kind, parameter) for kind, parameter in zip(kinds, parameters, strict=True)]
        found = []
        for column, rows, part in chunk.columns():
            planes = []
            for kind, values in zip(kinds, per_field, strict=True):
                if sigmoid:
                    values = values.view(chunk.images, channels, 2, -1)[:, column]
                else:
                    values = values[:, part].unsqueeze(1)
                planes.append([add_by_row(rows, values[:, r], chunk.images * most, kind) for r in range(regions)])
            found.append((column, torch.stack([torch.stack(plane, -1) for plane in planes])))
        return found

    places = call.places() if most else []
    for place, found in zip(places, _map(call, sums, places), strict=True):
        for column, values in found:
            totals[:, place[0].start * most : place[0].stop * most, column] += values.to(total_dtype)
    result = totals.to(compute_dtype(logits.dtype))
    return result if sigmoid else result.squeeze(-1)


def add_by_row(rows: Tensor, values: Tensor, size: int, kind: int) -> Tensor:
    """Σ of the values of each row, (size,): in one order on the CPU, elsewhere as integers, which have no order."""
    flat = rows.flatten()
    if values.device.type == "cpu":
        return torch.bincount(flat, weights=values.double().flatten(), minlength=size + 1)[:size]
    bits = LOSS_BITS if kind == Kind.FOCAL else SHARE_BITS
    flat_values = values.flatten()
    known = flat_values.isfinite()
    whole = (flat_values.clamp(-LARGEST_LOSS, LARGEST_LOSS).double() * 2.0**bits).round().where(known, 0).long()
    sums = torch.zeros(size + 1, dtype=torch.long, device=values.device).scatter_add_(0, flat, whole)
    strange = torch.zeros(size + 1, dtype=torch.long, device=values.device).scatter_add_(0, flat, (~known).long())
    return (sums.double() * 2.0**-bits).where(strange == 0, torch.nan)[:size]


def cell_gradient(
    coefficients: Tensor,
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    maps: Tensor,
    classes: Sequence[int],
    most: int,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    parameters: Sequence[float],
) -> Tensor:
    """Σ over fields of ∂L/∂field · ∂field/∂logits, with the logits' shape and dtype.

    As for images, but each pixel reads the coefficients of its cell: with s = softmax(τ z) a size pulls with
    τ s_j (c_j − Σ_l c_l s_l), an overlap likewise where the target has the class, and a focal sum with
    p_j Σ_l q_l − q_j, where q_k is its coefficient times its slope.
    """
    call = CellInput(logits, target, mask, maps, classes, most, ignore_index, sigmoid)
    gradient = torch.zeros_like(logits)
    channels = logits.shape[1]
    table = coefficients.view(len(kinds), -1, channels, 2 if sigmoid else 1)

    def write(place: Place, scratch: Scratch) -> None:
        chunk = call.chunk(place, checked=True)
        own = table[:, place[0].start * most : place[0].stop * most]
        own = torch.cat((own, torch.zeros_like(own[:, :1])), 1)  # the last row: pixels without a cell
        by_temperature: dict[float, Tensor] = {}
        pull: Tensor | None = None
        for plane, kind, parameter in zip(own, kinds, parameters, strict=True):
            if kind in (Kind.COUNT, Kind.PIXELS, Kind.KEPT_PIXELS):
                continue
            per_pixel = _spread(chunk, plane, channels)
            if kind == Kind.FOCAL:
                one = per_pixel * chunk.y * focal_slope(chunk.log_p, parameter)
                pull = one if pull is None else pull + one
                continue
            temperature = 1.0 if kind == Kind.OVERLAP else parameter
            if kind == Kind.OVERLAP:
                per_pixel = (
                    per_pixel * (chunk.log_p.exp() < chunk.y)
                    if target.dtype.is_floating_point
                    else (per_pixel * chunk.y)
                )
            before = by_temperature.get(temperature)
            by_temperature[temperature] = per_pixel if before is None else before + per_pixel
        result = torch.zeros_like(chunk.logits)
        for temperature, weights in by_temperature.items():
            share = chunk.share(temperature)
            result += temperature * (share * (weights - (weights * share).sum(1, keepdim=True)))
        if pull is not None:
            result += chunk.log_p.exp() * pull.sum(1, keepdim=True) - pull
        result = result.where(chunk.valid, 0)
        piece = gradient[(place[0], slice(None), *place[1])]
        piece.copy_((result[:, 1] if sigmoid else result).reshape(piece.shape))

    if most:
        _map(call, write, call.places())
    return gradient


def _spread(chunk: CellChunk, plane: Tensor, channels: int) -> Tensor:
    """The entry of each pixel's cell in a plane of coefficients, (R, K, M); 0 for classes without cells."""
    result = torch.zeros_like(chunk.y)
    shaped = result.view(chunk.images, channels, 2, -1) if chunk.call.sigmoid else result.unsqueeze(2)
    for column, rows, _ in chunk.columns():
        for region in range(shaped.shape[2]):
            shaped[:, column, region] = plane[:, column, region][rows]
    return result


def _map(call: CellInput, work: Callable[[Place, Scratch], Result], places: list[Place]) -> list[Result]:
    dtype, device = compute_dtype(call.logits.dtype), call.logits.device
    if device.type == "cpu":
        return map_chunks(work, places, lambda: Scratch(dtype, device))
    return [work(place, Scratch(dtype, device)) for place in places]
