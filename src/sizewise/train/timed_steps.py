"""What a run will take, from a few steps on random pixels: one image of the data is read for its shape, no more."""

import math
import resource
import time
from copy import deepcopy
from dataclasses import dataclass, replace

import torch

from sizewise.deep_supervision import DeepSupervision
from sizewise.models.build import size_multiple
from sizewise.models.padding import pad_to_multiple
from sizewise.stats.cells import Cells
from sizewise.train.config import Runtime
from sizewise.train.machine import cpu_threads, make_fabric
from sizewise.train.network_outputs import single_output, supervised_outputs
from sizewise.train.optimizer import make_optimizer
from sizewise.train.resolve import ResolvedRun
from sizewise.train.task import make_model
from sizewise.train.training_step import padded_cells, padded_labels

WARM_UP, TIMED = 1, 3
CELLS = 50


@dataclass(frozen=True)
class StepCost:
    """Of one training step.

    Attributes:
        seconds: the step itself, without reading.
        memory_mib: at most, of the device, or of this process on a CPU.
        steps: that the whole training has.
    """

    seconds: float
    memory_mib: float
    steps: int

    @property
    def training_seconds(self) -> float:
        """Of all steps; validation and scoring come on top."""
        return self.seconds * self.steps


def time_steps(run: ResolvedRun, runtime: Runtime) -> StepCost:
    """Time a few steps of a run as it would be trained, in batches of random pixels of the right shape."""
    config, task = run.config, run.task
    fabric = make_fabric(config, runtime)
    device = fabric.device
    image = task.dataset.reader.image(task.cases(task.split.train[:1])[0]).pixels
    size = config.patch or config.size or image.shape[1:]
    shape = (config.batch_size, image.shape[0], *size)
    untrained = replace(config, encoder_weights="none")  # trained weights take as long, and would have to be fetched
    model = make_model(untrained, task, in_channels=image.shape[0]).to(device)
    optimizer = make_optimizer(config, model, captured=False, on_gpu=device.type == "cuda")
    network, wrapped = fabric.setup(model, optimizer)
    criterion = deepcopy(run.criterion).to(device)  # the run's own stays where it is
    images = torch.randn(shape, device=device)
    channels = (task.out_channels,) if task.sigmoid else ()
    labels = torch.randint(0, 2 if task.sigmoid else task.out_channels, (shape[0], *channels, *size), device=device)
    # Noise has a component at every pixel; in a run cells are found beforehand, and their number costs nothing.
    classes = criterion.cell_classes(task.out_channels, task.sigmoid)
    maps = torch.randint(1, CELLS + 1, (shape[0], len(classes), *size), dtype=torch.int32, device=device)
    cells = Cells(maps, classes, CELLS)
    times = []
    with cpu_threads(runtime.threads if device.type == "cpu" else 0):  # as many as the run would have
        for _ in range(WARM_UP + TIMED):
            _wait(device)
            started = time.perf_counter()
            padded, crop = pad_to_multiple(images, size_multiple(config.model))
            wrapped.zero_grad()
            if config.deep_supervision:
                outputs = supervised_outputs(network(padded), padded.shape[2:])
                wide = None if cells is None else padded_cells(cells, padded.shape[2:])
                loss = DeepSupervision(criterion)(outputs, padded_labels(labels, padded.shape[2:]), cells=wide)
            else:
                loss = criterion(single_output(network(padded))[crop], labels, cells=cells)
            fabric.backward(loss)
            wrapped.step()
            _wait(device)
            times.append(time.perf_counter() - started)
    memory_mib = _memory_mib(device)
    del network, wrapped, model, optimizer, images, labels
    if device.type == "cuda":
        torch.cuda.empty_cache()  # the runs that follow may share the device
    steps = config.steps_per_epoch or math.ceil(len(task.split.train) / config.batch_size)
    return StepCost(min(times[WARM_UP:]), memory_mib, config.epochs * steps)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _memory_mib(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
