"""One training step: crop, augment, forward, loss, backward, update. On one GPU it is captured in a CUDA graph."""

from collections.abc import Callable

import torch
from lightning_fabric import Fabric
from lightning_fabric.wrappers import _FabricModule, _FabricOptimizer
from torch import Tensor, nn

from sizewise.criterion import Loss
from sizewise.models.padding import pad_to_multiple
from sizewise.stats.cells import Cells
from sizewise.train.augment import augment_with_cells
from sizewise.train.batches import Batches, blank_outside
from sizewise.train.case_cells import CaseCells

WARM_UP_STEPS = 3  # before a capture, so that libraries choose their algorithms and allocate outside of it


class Step:
    """Runs steps and sums their losses on the device: the host waits once an epoch, not once a step.

    Args:
        fabric: device and precision.
        model: set up by fabric.
        optimizer: set up by fabric. For a captured step its learning rate is a tensor.
        criterion: the loss, on the device.
        batches: where crops come from.
        input_scale: factor and offset per channel, see Preparation.
        augmented: whether the plan's motions and colours are applied.
        multiple: what the model's input size must be divisible by.
        clip_norm: largest norm of the gradient, 0 for no limit.
        cells: the cells of the training cases, where the criterion has a term per component.
    """

    def __init__(
        self,
        fabric: Fabric,
        model: _FabricModule,
        optimizer: _FabricOptimizer,
        criterion: Loss,
        batches: Batches,
        *,
        input_scale: tuple[Tensor, Tensor],
        augmented: bool,
        multiple: int,
        clip_norm: float,
        cells: CaseCells | None = None,
    ) -> None:
        self.fabric, self.model, self.optimizer = fabric, model, optimizer
        self.criterion, self.batches = criterion, batches
        self.input_scale, self.augmented, self.multiple, self.clip_norm = input_scale, augmented, multiple, clip_norm
        self.cells = cells
        self.names = ("loss", *criterion.weights.names)
        self.sums = torch.zeros(len(self.names), dtype=torch.float64, device=fabric.device)
        self.replay: Callable[[], None] | None = None

    def run(self) -> None:
        """One step; its losses are added to ``sums``."""
        self.batches.advance()
        if self.replay is None:
            self._compute()
        else:
            self.replay()

    def epoch_means(self, steps: int) -> dict[str, float]:
        """The mean loss and terms since the last call, over all processes. Waits for the device."""
        means = self.sums / steps
        if self.fabric.world_size > 1:
            torch.distributed.all_reduce(means)
            means /= self.fabric.world_size
        self.sums.zero_()
        return dict(zip(self.names, means.tolist(), strict=True))

    def _compute(self) -> None:
        logits, labels, cells = self.forward()
        terms = self.criterion.terms(logits, labels, cells=cells)
        loss = self.criterion.total(terms)
        self.optimizer.zero_grad(set_to_none=True)
        self.fabric.backward(loss)
        if self.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        self.optimizer.step()
        self.sums += torch.stack([loss.detach(), *(value.detach() for value in terms.values())])

    def forward(self) -> tuple[Tensor, Tensor, Cells | None]:
        """Logits, labels and cells of the current batch."""
        crops = self.batches.current()
        maps = crops.cells
        factor, offset = (one.view(1, -1, *[1] * (crops.images.dim() - 2)) for one in self.input_scale)
        images = crops.images * factor + offset
        images, labels = blank_outside(images, crops.labels, crops.inside)
        if self.augmented:
            images, labels, maps = augment_with_cells(images, labels, maps, crops.motions, crops.colours)
        if images.dim() == 4 and images.is_cuda:
            images = images.contiguous(memory_format=torch.channels_last)
        padded, crop = pad_to_multiple(images, self.multiple)
        cells = None if maps is None or self.cells is None else self.cells.batch(maps)
        return self.model(padded)[crop], labels, cells

    def capture(self) -> None:
        """Record the step. Model, optimizer and sums are as before when this returns; steps then replay the record."""
        saved = [(tensor, tensor.detach().clone()) for tensor in self._state()]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP_STEPS):
                self.batches.advance()
                self._compute()
        torch.cuda.current_stream().wait_stream(stream)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        self.batches.advance()
        with torch.cuda.graph(graph):
            self._compute()
        known = {id(tensor) for tensor, _ in saved}
        with torch.no_grad():
            for tensor, before in saved:
                tensor.copy_(before)
            for tensor in self._state():  # an optimizer makes its state in its first step: it starts from 0
                if id(tensor) not in known:
                    tensor.zero_()
        self.replay = graph.replay

    def _state(self) -> list[Tensor]:
        """Every tensor that a step changes."""
        held = [value for state in self.optimizer.state.values() for value in state.values()]
        moments = [value for value in held if isinstance(value, Tensor)]
        return [*self.model.parameters(), *self.model.buffers(), *moments, self.sums]
