"""One training run, from the first batch to the last checkpoint."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import nn

from sizewise.models.build import size_multiple
from sizewise.train.augment import AUGMENTATIONS
from sizewise.train.batches import Batches, ResidentBatches, StreamedBatches
from sizewise.train.checkpoint import load_checkpoint, save_checkpoint
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.curves import draw_curves
from sizewise.train.failures import check_finite
from sizewise.train.history import Board, Row, epoch_line, epoch_row, write_history
from sizewise.train.optimizer import make_optimizer, set_learning_rates
from sizewise.train.plan import Plan, draw_plan
from sizewise.train.preparation import Preparation
from sizewise.train.schedule import Schedule
from sizewise.train.step import Step
from sizewise.train.store import Store, load_store
from sizewise.train.task import Task, make_criterion, make_model
from sizewise.train.validation import Validation, case_sums, summarise


@dataclass
class Progress:
    """Where a run stands; with model and optimizer, all that it needs to go on."""

    epoch: int
    rows: list[Row]
    best_score: float
    best_epoch: int


def train(
    config: RunConfig,
    runtime: Runtime,
    folder: Path,
    *,
    fabric: Fabric,
    task: Task,
    preparation: Preparation,
    say: Callable[[str], None],
) -> None:
    """Train from the last saved state to the last epoch. Files are written by rank 0 alone."""
    device = fabric.device
    stores = [
        load_store(
            task.dataset,
            task.cases(names),
            preparation,
            device=device,
            keep_on_device=runtime.keep_on_device,
            workers=runtime.workers,
            what=f"Reading {what}",
        )
        for names, what in ((task.split.train, "training cases"), (task.split.validation, "validation cases"))
        if names
    ]
    training, validation = stores[0], stores[1] if len(stores) > 1 else None
    patch = config.patch or tuple(int(n) for n in training.shapes[0])
    multiple = size_multiple(config.model)
    scale = preparation.input_scale(device)
    augmentation = AUGMENTATIONS[config.augment]

    model = make_model(config, task, in_channels=training.channels)
    if device.type == "cuda" and task.dataset.spatial_dims == 2:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    criterion = make_criterion(config, task).to(device)
    captured = device.type == "cuda" and fabric.world_size == 1 and runtime.graphs == "auto"
    optimizer = make_optimizer(config, model.to(device), captured=captured, on_gpu=device.type == "cuda")
    schedule = Schedule(config)
    progress = Progress(0, [], float("-inf"), 0)
    if (folder / "last.pt").exists():
        progress = _restore(load_checkpoint(folder / "last.pt"), model, optimizer, schedule)
        say(f"resuming after epoch {progress.epoch}")
    network, wrapped = fabric.setup(model, optimizer)
    batches: Batches
    if training.images.device == device:
        batches = ResidentBatches(training, patch)
    else:
        batches = StreamedBatches(training, patch, device, workers=runtime.workers)
        say(f"{len(training)} training cases stream from disk: they do not fit in memory with the rest")
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
    )

    def plan_of(epoch: int) -> Plan:
        whole = draw_plan(
            training,
            seed=config.seed,
            epoch=epoch,
            steps=config.steps_per_epoch,
            batch_size=config.batch_size,
            patch=patch,
            oversample=config.oversample,
            augmentation=augmentation,
            spacing=config.spacing or (1.0,) * len(patch),
        )
        return whole.share(fabric.global_rank, fabric.world_size)

    board = Board(folder / "tensorboard", first_epoch=progress.epoch + 1) if fabric.is_global_zero else None
    title = f"{task.dataset.name}, {config.model}, {config.loss}, seed {config.seed}"
    best: dict[str, Any] | None = None
    saved_at, started, first = time.monotonic(), time.monotonic(), progress.epoch
    for epoch in range(progress.epoch + 1, config.epochs + 1):
        clock = time.monotonic()
        torch.manual_seed(config.seed * 1_000_003 + epoch)  # dropout: no generator state to save
        plan = plan_of(epoch)
        rates = schedule.rates(epoch=epoch, steps=len(plan.cases))
        network.train()
        batches.begin(plan)
        if captured and step.replay is None:
            step.capture()
            batches.begin(plan)
        for rate in rates:
            set_learning_rates(optimizer, rate)
            step.run()
        losses = step.epoch_means(len(plan.cases))
        check_finite(losses, epoch=epoch, folder=folder)
        train_seconds = time.monotonic() - clock
        found = None
        if validation is not None and (epoch % config.validate_every == 0 or epoch == config.epochs):
            network.eval()
            found = validate(fabric, network, validation, criterion, config, scale, multiple)
            schedule.after_validation(found.loss)
        row = epoch_row(
            epoch=epoch,
            learning_rate=rates[-1],
            train=losses,
            validation=found,
            train_seconds=train_seconds,
            seconds=time.monotonic() - clock,
        )
        progress.rows.append(row)
        progress.epoch = epoch
        score = found.score if found is not None else None
        if (score is not None and score > progress.best_score) or (validation is None and epoch == config.epochs):
            progress.best_score, progress.best_epoch = score or 0.0, epoch
            best = {name: value.detach().clone() for name, value in model.state_dict().items()}
        last = epoch == config.epochs
        if fabric.is_global_zero:
            pace = (time.monotonic() - started) / (epoch - first)
            say(epoch_line(row, epochs=config.epochs, seconds_left=pace * (config.epochs - epoch)))
            assert board is not None
            board.add(row)
            write_history(folder / "history.csv", progress.rows)
            if last or time.monotonic() - saved_at >= runtime.save_seconds:
                _save(folder, config, model, optimizer, schedule, progress, best)
                best = None
                draw_curves(folder / "curves", progress.rows, title=title, classes=task.foreground)
                saved_at = time.monotonic()
    if board is not None:
        board.close()
    fabric.barrier()


def validate(
    fabric: Fabric,
    network: nn.Module,
    store: Store,
    criterion: Any,
    config: RunConfig,
    scale: tuple[torch.Tensor, torch.Tensor],
    multiple: int,
) -> Validation:
    """Every rank takes its share of the cases; all know the result."""
    mine = range(fabric.global_rank, len(store), fabric.world_size) or range(1)
    sums, counts = case_sums(
        network,
        store,
        criterion,
        indices=mine,
        input_scale=scale,
        patch=config.patch,
        multiple=multiple,
        batch_size=config.batch_size,
        device=fabric.device,
    )
    parts = [(list(mine), sums.cpu(), counts.cpu())]
    if fabric.world_size > 1:
        everyone: list[Any] = [None] * fabric.world_size
        torch.distributed.all_gather_object(everyone, parts[0])
        parts = everyone
    owners = {index: (part, place) for part, (indices, _, _) in enumerate(parts) for place, index in enumerate(indices)}
    chosen = [owners[index] for index in range(len(store))]
    all_sums = torch.stack([parts[part][1][:, place] for part, place in chosen], 1)
    all_counts = torch.stack([parts[part][2][place] for part, place in chosen])
    return summarise(criterion, all_sums.to(fabric.device), all_counts.numpy())


def _save(
    folder: Path,
    config: RunConfig,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: Schedule,
    progress: Progress,
    best: dict[str, Any] | None,
) -> None:
    """The best weights first: the state that names them must not be newer than they are."""
    if best is not None:
        content = {"model": best, "epoch": progress.best_epoch, "score": progress.best_score, "config": config.hash}
        save_checkpoint(folder / "best.pt", content)
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state(),
        "epoch": progress.epoch,
        "rows": progress.rows,
        "best_score": progress.best_score,
        "best_epoch": progress.best_epoch,
        "config": config.hash,
    }
    save_checkpoint(folder / "last.pt", state)


def _restore(state: dict[str, Any], model: nn.Module, optimizer: torch.optim.Optimizer, schedule: Schedule) -> Progress:
    model.load_state_dict(state["model"])
    own = [{name: value for name, value in group.items() if name != "params"} for group in optimizer.param_groups]
    optimizer.load_state_dict(state["optimizer"])
    for group, settings in zip(optimizer.param_groups, own, strict=True):
        group.pop("rate_set", None)
        group.update(settings)  # the saved ones may belong to another device
    schedule.restore(state["schedule"])
    return Progress(state["epoch"], state["rows"], state["best_score"], state["best_epoch"])
