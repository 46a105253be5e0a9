"""Batches of crops: gathered on the device where the data lie there, else read ahead by threads."""

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sizewise.train.case_cells import CaseCells
from sizewise.train.epoch_plan import EpochPlan
from sizewise.train.preparation import UNLABELLED
from sizewise.train.store import Store

AHEAD = 4  # batches read ahead of the device


@dataclass(frozen=True)
class Crops:
    """One batch as it is stored.

    Attributes:
        images: (N, C, *S).
        labels: (N, 1, *S), or (N, C, *S) for multi-label.
        inside: bool (N, 1, *S): False where the crop leaves the image; None where it cannot.
        motions: see EpochPlan.
        colours: see EpochPlan.
        cells: maps (N, K', *S), where the loss has a term per component.
    """

    images: Tensor
    labels: Tensor
    inside: Tensor | None
    motions: Tensor
    colours: Tensor
    cells: Tensor | None = None


class Batches(ABC):
    """Serves the crops of one epoch after another."""

    @abstractmethod
    def begin(self, plan: EpochPlan) -> None:
        """Start an epoch."""

    @abstractmethod
    def advance(self) -> None:
        """Make the next batch current; called by the host before each step."""

    @abstractmethod
    def current(self) -> Crops:
        """The current batch on the device, at addresses that stay the same: a CUDA graph may hold this call."""


class Cropper:
    """Cuts crops out of a store with index arithmetic: no loop over samples, no shape that depends on the data."""

    def __init__(self, store: Store, patch: Sequence[int], cells: CaseCells | None = None) -> None:
        device = store.images.device
        self.store, self.cells = store, cells
        if cells is not None:
            self.cell_offsets = torch.from_numpy(cells.offsets).to(device)
            self.cell_channels = torch.arange(len(cells.classes), device=device)
        self.patch = tuple(patch)
        self.shapes = torch.from_numpy(store.shapes).to(device)
        self.image_offsets = torch.from_numpy(store.image_offsets).to(device)
        self.label_offsets = torch.from_numpy(store.label_offsets).to(device)
        self.steps = [torch.arange(length, device=device) for length in self.patch]
        self.channels = torch.arange(store.channels, device=device)
        self.label_channels = torch.arange(max(1, store.label_channels), device=device)
        self.may_leave = bool((store.shapes < np.array(self.patch)).any())

    def __call__(self, cases: Tensor, origins: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Images (N, C, *S), labels (N, 1 or C, *S), and where they are real (None: everywhere)."""
        index, volume, inside = self._places(cases, origins)
        images = self._take(self.store.images, self.image_offsets[cases], self.channels, volume, index)
        labels = self._take(self.store.labels, self.label_offsets[cases], self.label_channels, volume, index)
        return images, labels, None if inside is None else inside[:, None]

    def crop_cells(self, cases: Tensor, origins: Tensor) -> Tensor | None:
        """The same crops of the cells' maps, (N, K', *S); None where there are none."""
        if self.cells is None:
            return None
        index, volume, _ = self._places(cases, origins)
        return self._take(self.cells.maps, self.cell_offsets[cases], self.cell_channels, volume, index)

    def _places(self, cases: Tensor, origins: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Where each pixel of the crops lies in its case, how many pixels the case has, and where it is real."""
        shapes = self.shapes[cases]
        index = torch.zeros((), dtype=torch.long, device=cases.device)
        inside: Tensor | None = None
        for axis, steps in enumerate(self.steps):
            along = [1] * len(self.steps)
            along[axis] = -1
            place = (origins[:, axis, None] + steps).view(len(cases), *along)
            length = shapes[:, axis].view(-1, *[1] * len(self.steps))
            if self.may_leave:
                here = (place >= 0) & (place < length)
                inside = here if inside is None else inside & here
                place = place.clamp(min=0).minimum(length - 1)
            index = index * length + place
        return index, shapes.prod(1), inside

    def _take(self, flat: Tensor, offsets: Tensor, channels: Tensor, volume: Tensor, index: Tensor) -> Tensor:
        planes = offsets[:, None] + volume[:, None] * channels
        return flat[planes.view(*planes.shape, *[1] * len(self.steps)) + index[:, None]]


class ResidentBatches(Batches):
    """The store lies on the device; an epoch's draws are copied there once, and a counter walks through them."""

    def __init__(self, store: Store, patch: Sequence[int], cells: CaseCells | None = None) -> None:
        self.crop = Cropper(store, patch, cells)
        self.device = store.images.device
        self.step = torch.zeros(1, dtype=torch.long, device=self.device)
        self.tables: list[Tensor] = []

    def begin(self, plan: EpochPlan) -> None:
        arrays = [torch.from_numpy(a) for a in (plan.cases, plan.origins, plan.motions, plan.colours)]
        if not self.tables:
            self.tables = [array.to(self.device) for array in arrays]
        else:
            for table, array in zip(self.tables, arrays, strict=True):
                table.copy_(array)
        self.step.fill_(-1)

    def advance(self) -> None:
        pass  # the counter moves on the device, inside the graph

    def current(self) -> Crops:
        self.step.add_(1).remainder_(len(self.tables[0]))  # a capture's warm-up may take more steps than there are
        cases, origins, motions, colours = (table.index_select(0, self.step)[0] for table in self.tables)
        return Crops(*self.crop(cases, origins), motions, colours, self.crop.crop_cells(cases, origins))


class StreamedBatches(Batches):
    """The store lies on disk: threads cut the next batches while the device works on this one."""

    def __init__(
        self,
        store: Store,
        patch: Sequence[int],
        device: torch.device,
        cells: CaseCells | None = None,
        *,
        workers: int = 0,
    ) -> None:
        self.crop = Cropper(store, patch, cells)
        self.device = device
        self.pool = ThreadPoolExecutor(workers or os.cpu_count() or 1)
        self.waiting: deque[Future[list[Tensor | None]]] = deque()
        self.plan: EpochPlan | None = None
        self.next_step = 0
        self.buffers: list[Tensor | None] = []

    def begin(self, plan: EpochPlan) -> None:
        self.plan, self.next_step = plan, 0
        self.waiting.clear()
        for _ in range(AHEAD):
            self._submit()

    def advance(self) -> None:
        self._submit()
        if not self.waiting:  # a capture's warm-up may take more steps than there are
            return
        batch = self.waiting.popleft().result()
        if not self.buffers:
            self.buffers = [None if one is None else torch.empty_like(one, device=self.device) for one in batch]
        for buffer, one in zip(self.buffers, batch, strict=True):
            if buffer is not None and one is not None:
                buffer.copy_(one, non_blocking=True)

    def current(self) -> Crops:
        images, labels, inside, motions, colours, cells = self.buffers
        assert images is not None
        assert labels is not None
        assert motions is not None
        assert colours is not None
        return Crops(images, labels, inside, motions, colours, cells)

    def _submit(self) -> None:
        assert self.plan is not None
        if self.next_step < len(self.plan.cases):
            self.waiting.append(self.pool.submit(self._cut, self.plan, self.next_step))
            self.next_step += 1

    def _cut(self, plan: EpochPlan, step: int) -> list[Tensor | None]:
        cases, origins = torch.from_numpy(plan.cases[step]), torch.from_numpy(plan.origins[step])
        batch = [*self.crop(cases, origins), torch.from_numpy(plan.motions[step]), torch.from_numpy(plan.colours[step])]
        batch.append(self.crop.crop_cells(cases, origins))
        if self.device.type != "cuda":
            return batch
        return [None if one is None else one.pin_memory() for one in batch]


def blank_outside(images: Tensor, labels: Tensor, inside: Tensor | None) -> tuple[Tensor, Tensor]:
    """Scaled images are 0, and labels UNLABELLED, where the crop leaves the image."""
    if inside is None:
        return images, labels
    return images * inside, torch.where(inside, labels, UNLABELLED)
