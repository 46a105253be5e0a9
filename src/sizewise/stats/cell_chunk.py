"""Chunks of pixels with their cells, as the sums per cell read them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from sizewise.stats.chunks import DEVICE_CHUNK, Place, chunk_elements, chunks
from sizewise.stats.fields import Kind
from sizewise.stats.focal import focal_value
from sizewise.stats.reference import can_hold, compute_dtype
from sizewise.stats.target_values import check_labels, check_probabilities, check_shares


class CellInput(NamedTuple):
    """The operator's arguments; see :func:`sizewise.stats.cell_sums.cell_sums`."""

    logits: Tensor
    target: Tensor
    mask: Tensor | None
    maps: Tensor
    classes: Sequence[int]
    most: int
    ignore_index: int | None
    sigmoid: bool

    def places(self) -> list[Place]:
        """Where the chunks are."""
        images, channels, *spatial = self.logits.shape
        on_cpu = self.logits.device.type == "cpu"
        threads = torch.get_num_threads()
        elements = chunk_elements(self.logits.numel(), threads, channels) // 2 if on_cpu else DEVICE_CHUNK
        return list(chunks(images, channels, tuple(spatial), elements))

    def chunk(self, place: Place, *, checked: bool) -> "CellChunk":
        """The pixels of one place."""
        return CellChunk(self, place, checked=checked)


class CellChunk:
    """B images of M pixels, as B rows of K regions, or as B · C rows of two regions for sigmoid channels.

    Attributes:
        log_p: log-probabilities, (R, K, M).
        y: the target's shares, (R, K, M), 0 at pixels that are not valid.
        valid: bool, (R, 1, M).
        rows: where each pixel's cell lies in the flat sums of these images, (R, K' or 1, M); one past the end: nowhere.
    """

    def __init__(self, call: CellInput, place: Place, *, checked: bool) -> None:
        where = (place[0], slice(None), *place[1])
        self.call, self.images = call, place[0].stop - place[0].start
        dtype = compute_dtype(call.logits.dtype)
        logits = call.logits[where].flatten(2).to(dtype)
        target = call.target[where].flatten(2)
        kept = None if call.mask is None else call.mask[where].flatten(2)
        cells = call.maps[where].flatten(2).long()
        regions = 2 if call.sigmoid else logits.shape[1]
        if call.sigmoid:  # a channel is a problem of two regions with the logits (0, z)
            kept = None if kept is None else kept.expand(logits.shape).flatten(0, 1).unsqueeze(1)
            logits = logits.flatten(0, 1).unsqueeze(1)
            target = target.flatten(0, 1).unsqueeze(1)
        valid = torch.ones((len(logits), 1, logits.shape[-1]), dtype=torch.bool, device=logits.device)
        valid = valid if kept is None else valid & kept
        if target.dtype.is_floating_point:
            y = target.to(dtype)
            if not checked and y.device.type == "cpu":
                check = check_shares if call.sigmoid else check_probabilities
                check(y.squeeze(1) if call.sigmoid else y, None if kept is None else kept.squeeze(1))
            y = torch.cat((1 - y, y), 1) if call.sigmoid else y
        else:
            labels = target.long()
            if call.ignore_index is not None and can_hold(target.dtype, call.ignore_index):
                valid = valid & (labels != call.ignore_index)
            if not checked and labels.device.type == "cpu":
                check_labels(labels.squeeze(1), valid.squeeze(1), regions, call.ignore_index, call.target)
            y = (labels == torch.arange(regions, device=labels.device).view(1, -1, 1)).to(dtype)
        logits = logits.where(valid, 0)  # NaN times 0 is NaN, so what does not enter has to go before the sums
        if call.sigmoid:
            logits = torch.cat((torch.zeros_like(logits), logits), 1)
        self.logits, self.valid, self.y = logits, valid, y.where(valid, 0)
        self.log_p = functional.log_softmax(logits, 1).clamp(min=torch.finfo(dtype).min)
        self.rows = self._rows(cells)

    def _rows(self, cells: Tensor) -> Tensor:
        known = (cells > 0) & (cells <= self.call.most)
        image = torch.arange(self.images, device=cells.device).view(-1, 1, 1)
        rows = (image * self.call.most + cells - 1).where(known, self.images * self.call.most)
        if not self.call.sigmoid:
            return rows.where(self.valid, self.images * self.call.most)
        every = torch.full(
            (self.images, self.call.logits.shape[1], cells.shape[-1]), self.images * self.call.most, device=rows.device
        )
        every[:, list(self.call.classes)] = rows
        return every.flatten(0, 1).unsqueeze(1).where(self.valid, self.images * self.call.most)

    def columns(self) -> Iterator[tuple[int, Tensor, slice | int]]:
        """For each class or channel that has cells: its column, the rows of its pixels (B, M), and its part of them."""
        channels = self.call.logits.shape[1]
        for number, k in enumerate(self.call.classes):
            if self.call.sigmoid:
                yield k, self.rows.view(self.images, channels, -1)[:, k], slice(None)
            else:
                yield k, self.rows[:, number], k

    def value(self, kind: int, parameter: float) -> Tensor:
        """What each pixel adds to a sum, (R, K, M)."""
        if kind == Kind.COUNT:
            return self.y
        if kind in (Kind.PIXELS, Kind.KEPT_PIXELS):
            return self.valid.to(self.y.dtype).expand_as(self.y)
        if kind == Kind.FOCAL:
            largest = torch.finfo(self.y.dtype).max
            return focal_value(self.log_p, parameter).clamp(max=largest) * self.y
        if kind == Kind.OVERLAP:
            return self.log_p.exp().minimum(self.y)
        return self.share(parameter) * self.valid

    def share(self, temperature: float) -> Tensor:
        """softmax(τ z), (R, K, M)."""
        return self.log_p.exp() if temperature == 1 else functional.softmax(temperature * self.logits, 1)
