"""All that an epoch needs, put together before the first one: data, network, optimizer, step."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from sizewise.criterion import Loss, WeightSchedule
from sizewise.models.build import size_multiple
from sizewise.train.augment import AUGMENTATIONS
from sizewise.train.batches import Batches, ResidentBatches, StreamedBatches
from sizewise.train.case_cells import CaseCells, find_case_cells
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.epoch_plan import EpochPlan, draw_plan
from sizewise.train.network_outputs import check_users_network
from sizewise.train.optimizer import make_optimizer
from sizewise.train.preparation import Preparation
from sizewise.train.resolve import ResolvedRun
from sizewise.train.run_state import RunState
from sizewise.train.schedule import Schedule
from sizewise.train.shared_upsampling import is_faster_in_loss, share_upsampling
from sizewise.train.store import Store, StoreCache, classes_present
from sizewise.train.task import Task, make_model, make_weight_schedule
from sizewise.train.training_step import Step
from sizewise.train.weight_average import WeightAverage
from sizewise.user_code import is_user_code
from sizewise.wording import counted

Log = Callable[[str], None]


@dataclass(frozen=True)
class Setup:
    """What the loop works with.

    Attributes:
        state: network, optimizer, schedule and progress.
        network: the network as fabric wraps it.
        criterion: on the device.
        batches: where crops come from.
        step: one training step.
        weights: λ over training; None where it stays.
        captured: whether the step is recorded in a CUDA graph.
        validation: the validation cases; None where there are none.
        input_scale: factor and offset per channel.
        multiple: what the network's input size must be divisible by.
        draw: the plan of an epoch, this process's share of it.
        validation_cells: of the validation cases, where the criterion has a term per component.
    """

    state: RunState
    network: Any
    criterion: Loss
    batches: Batches
    step: Step
    weights: WeightSchedule | None
    captured: bool
    validation: Store | None
    input_scale: tuple[Tensor, Tensor]
    multiple: int
    draw: Callable[[int], EpochPlan]
    validation_cells: CaseCells | None = None


def set_up(
    run: ResolvedRun,
    runtime: Runtime,
    *,
    fabric: Fabric,
    preparation: Preparation,
    stores: StoreCache,
    saved: dict[str, Any] | None,
    log: Log,
) -> Setup:
    """Read the data, make the network, and take over what was saved."""
    config, task, device = run.config, run.task, fabric.device
    begun = config if saved is None else replace(config, encoder_weights="none")  # the saved state has them
    model = make_model(begun, task, in_channels=len(preparation.mean))  # before the data, which may take minutes
    training, validation = read_stores(task, preparation, runtime, device=device, stores=stores, log=log)
    find = partial(find_case_cells, criterion=run.criterion, channels=task.out_channels, workers=runtime.workers)
    cells = find(training, what="Finding components")
    # a whole image is as large as the largest: what smaller ones lack is blank and counts for nothing
    patch = config.patch or tuple(int(n) for n in training.shapes.max(axis=0))
    multiple, augmentation = size_multiple(config.model), AUGMENTATIONS[config.augment]
    if device.type == "cuda" and task.dataset.spatial_dims == 2:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    criterion = deepcopy(run.criterion).to(device)  # the run's own loss stays as it was made
    captured = device.type == "cuda" and fabric.world_size == 1 and runtime.graphs == "auto"
    if config.accumulate > 1 or config.precision == "float16":
        captured = False  # a recorded step always updates; scaling the loss asks the device whether to
    upsample = None  # rounds differently: a run goes on as it began, those of earlier versions without
    if is_faster_in_loss(criterion, task.out_channels, captured=captured) if saved is None else saved.get("upsample"):
        upsample = share_upsampling(config.model, model, criterion, patch)
    optimizer = make_optimizer(config, model.to(device), captured=captured, on_gpu=device.type == "cuda")
    if is_user_code(config.model):
        channels, padded = len(preparation.mean), tuple(-(-length // multiple) * multiple for length in patch)
        check_users_network(model, config.model, channels=channels, out_channels=task.out_channels, spatial=padded)
    average = WeightAverage(model, decay=config.ema) if config.ema else None
    precision = fabric.strategy.precision
    state = RunState(model, optimizer, Schedule(config), average=average, precision=precision, criterion=criterion)
    state.upsample = upsample
    if saved is not None:
        state.restore(saved)
        log(f"resuming after epoch {state.progress.epoch}")
    network, wrapped = fabric.setup(model, optimizer)
    batches: Batches
    if training.images.device == device:
        batches = ResidentBatches(training, patch, cells)
    else:
        batches = StreamedBatches(training, patch, device, cells, workers=runtime.workers)
        log(f"{counted(len(training), 'training case')}: read from disk as needed")
    scale = preparation.input_scale(device)
    step = Step(
        fabric,
        network,
        wrapped,
        criterion,
        batches,
        input_scale=scale,
        augmented=augmentation.moves or augmentation.colour > 0,
        multiple=multiple,
        clip_norm=config.clip_norm,
        cells=cells,
        accumulate=config.accumulate,
        average=average,
        deep=config.deep_supervision,
    )
    spacing = spacing_of(config, task, preparation, len(patch))

    def draw(epoch: int) -> EpochPlan:
        whole = draw_plan(
            training,
            seed=config.seed,
            epoch=epoch,
            steps=config.steps_per_epoch,
            batch_size=config.batch_size,
            patch=patch,
            oversample=config.oversample,
            augmentation=augmentation,
            spacing=spacing,
        )
        return whole.share(fabric.global_rank, fabric.world_size)

    weights = make_weight_schedule(config, criterion)
    validation_cells = None if validation is None else find(validation)
    return Setup(
        state,
        network,
        criterion,
        batches,
        step,
        weights,
        captured,
        validation,
        scale,
        multiple,
        draw,
        validation_cells,
    )


def read_stores(
    task: Task, preparation: Preparation, runtime: Runtime, *, device: torch.device, stores: StoreCache, log: Log
) -> tuple[Store, Store | None]:
    """The training and the validation cases, decoded; notes on what they lack go to the log."""
    read = partial(stores.load, device=device, keep_on_device=runtime.keep_on_device, workers=runtime.workers)
    training = read(task.dataset, task.cases(task.split.train), preparation, what="Reading training cases")
    seen = classes_present(training)
    if unseen := [name for k, name in task.names.items() if k and k not in seen]:
        log(f"note: no training case has {', '.join(unseen)}: that cannot be learnt from these cases")
    if not task.split.validation:
        log("note: there are no validation cases, so the weights of the last epoch are taken as the best")
        return training, None
    cases = task.cases(task.split.validation)
    return training, read(task.dataset, cases, preparation, what="Reading validation cases")


def spacing_of(config: RunConfig, task: Task, preparation: Preparation, dims: int) -> tuple[float, ...]:
    """Millimetres between the pixels that training sees, in which augmentation rotates."""
    if config.spacing:
        return config.spacing
    if task.dataset.spatial_dims != 3:
        return (1.0,) * dims
    return preparation.spacing_of(task.dataset.reader.image(task.cases(task.split.train[:1])[0]))
