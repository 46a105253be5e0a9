"""One training step: crop, augment, forward, loss, backward, update. On one GPU it is captured in a CUDA graph."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.wrappers import _FabricModule, _FabricOptimizer
from torch import Tensor, nn
from torch.nn import functional as F

from sizewise.criterion import Loss
from sizewise.deep_supervision import DeepSupervision
from sizewise.models.padding import pad_to_multiple
from sizewise.stats.cells import Cells
from sizewise.train.augment import augment
from sizewise.train.batches import Batches, blank_outside
from sizewise.train.case_cells import CaseCells
from sizewise.train.network_outputs import single_output, supervised_outputs
from sizewise.train.preparation import UNLABELLED
from sizewise.train.weight_average import WeightAverage

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
        accumulate: batches whose mean gradient makes one update.
        average: of the weights, brought up to date after each update.
        deep: whether the network gives logits of several resolutions in training.
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
        accumulate: int = 1,
        average: WeightAverage | None = None,
        deep: bool = False,
    ) -> None:
        self.fabric, self.model, self.optimizer = fabric, model, optimizer
        self.criterion, self.batches = criterion, batches
        self.input_scale, self.augmented, self.multiple, self.clip_norm = input_scale, augmented, multiple, clip_norm
        self.cells = cells
        self.accumulate, self.average = accumulate, average
        self.supervised = DeepSupervision(criterion) if deep else None
        self.gathered, self.left = 0, 0
        self.names = ("loss", *criterion.weights.names)
        self.sums = torch.zeros(len(self.names), dtype=torch.float64, device=fabric.device)
        self.network: Callable[[Tensor], Any] = model
        self.replay: Callable[[], None] | None = None

    def begin(self, steps: int) -> None:
        """An epoch of so many steps follows."""
        self.gathered, self.left = 0, steps

    def run(self) -> None:
        """One step; its losses are added to ``sums``. With ``accumulate`` every so many of them update, and the last.

        A captured step always updates.
        """
        self.batches.advance()
        if self.replay is not None:
            self.replay()
            return
        if self.gathered == 0:
            self.group = max(1, min(self.accumulate, self.left))  # the last of an epoch may be smaller
        self.gathered, self.left = self.gathered + 1, self.left - 1
        whole = self.gathered == self.group
        self._compute(first=self.gathered == 1, whole=whole, share=1 / self.group)
        self.gathered = 0 if whole else self.gathered

    def epoch_means(self, steps: int) -> dict[str, float]:
        """The mean loss and terms since the last call, over all processes. Waits for the device."""
        means = self.sums / steps
        if self.fabric.world_size > 1:
            torch.distributed.all_reduce(means)
            means /= self.fabric.world_size
        self.sums.zero_()
        return dict(zip(self.names, means.tolist(), strict=True))

    def _compute(self, *, first: bool = True, whole: bool = True, share: float = 1.0) -> None:
        outputs, labels, cells = self.forward()
        criterion = self.criterion if self.supervised is None else self.supervised
        terms = criterion.terms(outputs, labels, cells=cells)  # type: ignore[arg-type]
        loss = self.criterion.total(terms)
        if first:
            self.optimizer.zero_grad(set_to_none=True)
        with nullcontext() if whole else self.fabric.no_backward_sync(self.model):
            self.fabric.backward(loss if share == 1 else loss * share)
        if whole:
            self._update()
        self.sums += torch.stack([loss.detach(), *(value.detach() for value in terms.values())])

    def _update(self) -> None:
        if self.clip_norm:
            self.fabric.strategy.precision.unscale_gradients(self.optimizer.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        self.optimizer.step()
        if self.average is not None:
            self.average.update()

    def forward(self) -> tuple[Tensor | list[Tensor], Tensor, Cells | None]:
        """Logits, labels and cells of the current batch; logits of several resolutions, with the padding, as a list."""
        crops = self.batches.current()
        maps = crops.cells
        factor, offset = (one.view(1, -1, *[1] * (crops.images.dim() - 2)) for one in self.input_scale)
        images = crops.images * factor + offset
        images, labels = blank_outside(images, crops.labels, crops.inside)
        if self.augmented:
            images, labels, maps = augment(images, labels, maps, crops.motions, crops.colours)
        if images.dim() == 4 and images.is_cuda:
            images = images.contiguous(memory_format=torch.channels_last)
        padded, crop = pad_to_multiple(images, self.multiple)
        cells = None if maps is None or self.cells is None else self.cells.batch(maps)
        if self.supervised is None:
            return single_output(self.network(padded))[crop], labels, cells
        size = padded.shape[2:]
        wide = None if cells is None else padded_cells(cells, size)
        return supervised_outputs(self.network(padded), size), padded_labels(labels, size), wide

    def take(self, network: Callable[[Tensor], Any]) -> None:
        """Compute the logits with another form of the network from here on, as a compiled one.

        It is tried in a step without an update, which raises whatever it raises and leaves no trace.
        """
        changed = (*self.model.buffers(), *self.criterion.parts.buffers(), self.sums)
        saved = [(tensor, tensor.detach().clone()) for tensor in changed]
        self.network = network
        try:
            self.batches.advance()
            self._compute(whole=False)
        except Exception:
            self.network = self.model
            raise
        finally:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.no_grad():
                for tensor, before in saved:
                    tensor.copy_(before)

    def capture(self, timed: int = 0) -> float:
        """Record the step. Model, optimizer and sums are as before when this returns; steps then replay the record.

        Returns:
            The seconds of a replayed step, from so many ``timed`` ones.
        """
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
        seconds = _replay_seconds(graph, timed) if timed else 0.0
        known = {id(tensor) for tensor, _ in saved}
        with torch.no_grad():
            for tensor, before in saved:
                tensor.copy_(before)
            for tensor in self._state():  # an optimizer makes its state in its first step: it starts from 0
                if id(tensor) not in known:
                    tensor.zero_()
        self.replay = graph.replay
        return seconds

    def forget_capture(self) -> None:
        """Give back the record and its memory."""
        self.replay = None
        torch.cuda.empty_cache()

    def _state(self) -> list[Tensor]:
        """Every tensor that a step changes."""
        held = [value for state in self.optimizer.state.values() for value in state.values()]
        moments = [value for value in held if isinstance(value, Tensor)]
        averaged = [] if self.average is None else self.average.tensors()
        own = self.criterion.parts.buffers()  # a term may learn as it goes
        return [*self.model.parameters(), *self.model.buffers(), *own, *moments, self.sums, *averaged]


def _replay_seconds(graph: torch.cuda.CUDAGraph, count: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    begin.record()
    for _ in range(count):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / count


def padded_labels(labels: Tensor, spatial: torch.Size) -> Tensor:
    """Labels (N, [C,] *S) up to the size of the padded images; what is added counts for nothing."""
    missing = [wanted - had for wanted, had in zip(spatial, labels.shape[-len(spatial) :], strict=True)]
    return F.pad(labels, [n for size in reversed(missing) for n in (0, size)], value=UNLABELLED)


def padded_cells(cells: Cells, spatial: torch.Size) -> Cells:
    """Cells up to the size of the padded images; what is added belongs to none."""
    missing = [wanted - had for wanted, had in zip(spatial, cells.maps.shape[2:], strict=True)]
    maps = F.pad(cells.maps, [n for size in reversed(missing) for n in (0, size)])
    return Cells(maps, cells.classes, cells.most)
