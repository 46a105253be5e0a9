"""One training run, from the first batch to the last checkpoint."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import nn

from sizewise.models.build import size_multiple
from sizewise.progress import track
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
from sizewise.train.run_folder import settings_hash
from sizewise.train.schedule import Schedule
from sizewise.train.step import Step
from sizewise.train.store import Store, StoreCache, classes_present
from sizewise.train.task import Task, make_criterion, make_model
from sizewise.train.validation import Validation, case_sums, summarise
from sizewise.wording import counted

DRAW_SECONDS = 30.0  # drawing takes a second, an epoch of a small run much less


@dataclass
class Progress:
    """Where a run stands; with model and optimizer, all that it needs to go on."""

    epoch: int = 0
    rows: list[Row] = field(default_factory=list)
    best_score: float = float("-inf")
    best_loss: float = float("inf")
    best_epoch: int = 0

    def improved_by(self, found: Validation) -> bool:
        """A higher score; or the same (0 while nothing is found yet) with a lower loss."""
        return (found.score, -found.loss) > (self.best_score, -self.best_loss)


def train(
    config: RunConfig,
    runtime: Runtime,
    folder: Path,
    *,
    fabric: Fabric,
    task: Task,
    preparation: Preparation,
    stores: StoreCache,
    say: Callable[[str], None],
) -> None:
    """Train from the last saved state to the last epoch. Files are written by rank 0 alone."""
    device = fabric.device
    title = f"{task.dataset.name}, {config.model}, {config.loss}, seed {config.seed}"
    saved = load_checkpoint(folder / "last.pt", run=settings_hash(folder)) if (folder / "last.pt").exists() else None
    if saved is not None and saved["epoch"] >= config.epochs:  # killed between the last epoch and the scores
        if fabric.is_global_zero:
            write_history(folder / "history.csv", saved["rows"])
            draw_curves(folder / "curves", saved["rows"], title=title, classes=task.names)
        return
    begun = config if saved is None else replace(config, encoder_weights="none")  # the saved state has them
    model = make_model(begun, task, in_channels=len(preparation.mean))  # before the data, which may take minutes
    read = partial(stores.load, device=device, keep_on_device=runtime.keep_on_device, workers=runtime.workers)
    training = read(task.dataset, task.cases(task.split.train), preparation, what="Reading training cases")
    seen = classes_present(training)
    if unseen := [name for k, name in task.names.items() if k and k not in seen]:
        say(f"note: no training case has {', '.join(unseen)}: that cannot be learnt from these cases")
    validation = None
    if task.split.validation:
        validation = read(task.dataset, task.cases(task.split.validation), preparation, what="Reading validation cases")
    else:
        say("note: there are no validation cases, so the weights of the last epoch are taken as the best")
    # a whole image is as large as the largest: what smaller ones lack is blank and counts for nothing
    patch = config.patch or tuple(int(n) for n in training.shapes.max(axis=0))
    multiple = size_multiple(config.model)
    scale = preparation.input_scale(device)
    augmentation = AUGMENTATIONS[config.augment]
    spacing = config.spacing or (1.0,) * len(patch)
    if task.dataset.spatial_dims == 3 and not config.spacing:
        spacing = preparation.spacing_of(task.dataset.reader.image(task.cases(task.split.train[:1])[0]))

    if device.type == "cuda" and task.dataset.spatial_dims == 2:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    criterion = make_criterion(config, task).to(device)
    captured = device.type == "cuda" and fabric.world_size == 1 and runtime.graphs == "auto"
    optimizer = make_optimizer(config, model.to(device), captured=captured, on_gpu=device.type == "cuda")
    schedule = Schedule(config)
    progress = Progress()
    if saved is not None:
        progress = _restore(saved, model, optimizer, schedule)
        say(f"resuming after epoch {progress.epoch}")
    network, wrapped = fabric.setup(model, optimizer)
    batches: Batches
    if training.images.device == device:
        batches = ResidentBatches(training, patch)
    else:
        batches = StreamedBatches(training, patch, device, workers=runtime.workers)
        say(f"{counted(len(training), 'training case')}: read from disk as needed")
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
            spacing=spacing,
        )
        return whole.share(fabric.global_rank, fabric.world_size)

    board = Board(folder / "tensorboard", first_epoch=progress.epoch + 1) if fabric.is_global_zero else None
    best: dict[str, Any] | None = None
    saved_at = drawn_at = started = time.monotonic()
    first = progress.epoch
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
        shown = track(rates, what=f"Epoch {epoch}/{config.epochs}") if fabric.is_global_zero else rates
        for rate in shown:
            set_learning_rates(optimizer, rate)
            step.run()
        losses = step.epoch_means(len(plan.cases))
        check_finite(losses, epoch=epoch, folder=folder)
        train_seconds = time.monotonic() - clock
        found = None
        if validation is not None and (epoch % config.validate_every == 0 or epoch == config.epochs):
            network.eval()
            found = validate(fabric, model, validation, criterion, config, scale, multiple, task.first_class)
            schedule.after_validation(found.loss)
        row = epoch_row(
            epoch=epoch,
            learning_rate=rates[-1],
            train=losses,
            validation=found,
            first_class=task.first_class,
            steps=len(plan.cases),
            train_seconds=train_seconds,
            seconds=time.monotonic() - clock,
        )
        progress.rows.append(row)
        progress.epoch = epoch
        last = epoch == config.epochs
        if found is not None and progress.improved_by(found):
            progress.best_score, progress.best_loss, progress.best_epoch = found.score, found.loss, epoch
            best = {name: value.detach().clone() for name, value in model.state_dict().items()}
        elif validation is None and last:
            progress.best_score, progress.best_epoch = 0.0, epoch
            best = {name: value.detach().clone() for name, value in model.state_dict().items()}
        if fabric.is_global_zero:
            pace = (time.monotonic() - started) / (epoch - first)
            say(epoch_line(row, epochs=config.epochs, seconds_left=pace * (config.epochs - epoch)))
            assert board is not None
            board.add(row)
            write_history(folder / "history.csv", progress.rows)
            if last or time.monotonic() - saved_at >= runtime.save_seconds:
                _save(folder, model, optimizer, schedule, progress, best)
                best = None
                if last or time.monotonic() - drawn_at >= DRAW_SECONDS:
                    draw_curves(folder / "curves", progress.rows, title=title, classes=task.names)
                    drawn_at = time.monotonic()
                saved_at = time.monotonic()
    if board is not None:
        board.close()
    fabric.barrier()


def validate(
    fabric: Fabric,
    model: nn.Module,
    store: Store,
    criterion: Any,
    config: RunConfig,
    scale: tuple[torch.Tensor, torch.Tensor],
    multiple: int,
    first_class: int,
) -> Validation:
    """Every rank takes its share of the cases; all know the result.

    ``model`` is not wrapped for DDP: that would exchange buffers in each forward pass, and wait for ranks that have
    fewer cases. They are exchanged once here, so that all ranks judge the network that rank 0 saves.
    """

    def forward(images: torch.Tensor) -> torch.Tensor:
        with fabric.autocast():
            return model(images)

    if fabric.world_size > 1:
        for buffer in model.buffers():
            if buffer.is_floating_point():
                torch.distributed.broadcast(buffer, 0)
    mine = range(fabric.global_rank, len(store), fabric.world_size) or range(1)
    sums, counts = case_sums(
        forward,
        store,
        criterion,
        indices=mine,
        input_scale=scale,
        patch=config.patch,
        multiple=multiple,
        batch_size=config.batch_size,
        device=fabric.device,
        first_class=first_class,
        what="Validating" if fabric.is_global_zero else "",
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
    return summarise(criterion, all_sums.to(fabric.device), all_counts)


def _save(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: Schedule,
    progress: Progress,
    best: dict[str, Any] | None,
) -> None:
    """The best weights first: the state that names them must not be newer than they are."""
    if best is not None:
        content = {"model": best, "epoch": progress.best_epoch, "score": progress.best_score}
        save_checkpoint(folder / "best.pt", content | {"config": settings_hash(folder)})
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state(),
        "epoch": progress.epoch,
        "rows": progress.rows,
        "best_score": progress.best_score,
        "best_loss": progress.best_loss,
        "best_epoch": progress.best_epoch,
        "config": settings_hash(folder),
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
    return Progress(**{name: state[name] for name in ("epoch", "rows", "best_score", "best_loss", "best_epoch")})
