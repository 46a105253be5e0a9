"""One training run, from the first batch to the last checkpoint."""

import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import torch
from lightning_fabric import Fabric

from sizewise.progress import track
from sizewise.train.compiling import get_ready
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.curves import draw_curves
from sizewise.train.failures import check_finite
from sizewise.train.history import Board, Row, epoch_line, epoch_row, write_history
from sizewise.train.optimizer import set_learning_rates
from sizewise.train.preparation import Preparation
from sizewise.train.resolve import ResolvedRun
from sizewise.train.run_state import Progress, RunState, load_state, read_progress
from sizewise.train.setup import Log, Setup, set_up
from sizewise.train.store import StoreCache
from sizewise.train.validation import Validation, validate

DRAW_SECONDS = 30.0  # drawing takes a second, an epoch of a small run much less


def train(
    run: ResolvedRun,
    runtime: Runtime,
    folder: Path,
    *,
    fabric: Fabric,
    preparation: Preparation,
    stores: StoreCache,
    log: Log,
    on_epoch: Callable[[Row], None],
) -> None:
    """Train from the last saved state to the last epoch. Files are written by rank 0 alone."""
    config, task = run.config, run.task
    saved = load_state(folder)
    if saved is not None and is_over(config, read_progress(saved)):  # killed between the last epoch and the scores
        if fabric.is_global_zero:
            write_history(folder / "history.csv", saved["rows"])
            draw_run(run, folder, saved["rows"])
        return
    setup = set_up(run, runtime, fabric=fabric, preparation=preparation, stores=stores, saved=saved, log=log)
    state, progress = setup.state, setup.state.progress
    first = progress.epoch
    recording = Record(run, runtime, folder, first_epoch=first + 1) if fabric.is_global_zero else nullcontext()
    with recording as record:
        for epoch in range(first + 1, config.epochs + 1):
            started = time.monotonic()
            plan = setup.draw(epoch)
            rates = state.schedule.rates(epoch=epoch, steps=len(plan.cases))
            setup.network.train()
            setup.batches.begin(plan)
            setup.step.begin(len(rates))
            if epoch == first + 1:
                get_ready(setup, runtime, steps=config.epochs * len(rates), log=log)
                setup.batches.begin(plan)
            torch.manual_seed(config.seed * 1_000_003 + epoch)  # dropout: no generator state to save
            numbered = enumerate(rates, start=(epoch - 1) * len(rates))
            what = f"Epoch {epoch}/{config.epochs}"
            for number, rate in track(numbered, what=what, total=len(rates)) if fabric.is_global_zero else numbered:
                set_learning_rates(state.optimizer, rate)
                share = number / (config.epochs * len(rates))
                setup.criterion.at(share)
                if setup.weights is not None:
                    setup.weights.at(share)
                setup.step.run()
            losses = setup.step.epoch_means(len(plan.cases))
            check_finite(losses, epoch=epoch, folder=folder)
            train_seconds = time.monotonic() - started

            found = None
            if setup.validation is not None and (epoch % config.validate_every == 0 or epoch == config.epochs):
                setup.network.eval()
                found = validate_epoch(run, setup, fabric)
                state.schedule.after_validation(found.loss)
            progress.epoch = epoch
            progress.rows.append(
                epoch_row(
                    epoch=epoch,
                    learning_rate=rates[-1],
                    train=losses,
                    validation=found,
                    first_class=task.first_class,
                    steps=len(plan.cases),
                    train_seconds=train_seconds,
                    seconds=time.monotonic() - started,
                )
            )
            state.judge(found, last=epoch == config.epochs, validated=setup.validation is not None)
            last = is_over(config, progress)
            if record is not None:
                log(record.line(progress.rows[-1]))
                record.keep(state, last=last)
                on_epoch(progress.rows[-1])
            if last:
                break
    if last and progress.epoch < config.epochs:
        log(f"stopped after epoch {progress.epoch}: no better score in {config.early_stop} validations")
    fabric.barrier()


def is_over(config: RunConfig, progress: Progress) -> bool:
    """Whether the last epoch is done, or validation has not found a better network for too long."""
    return progress.epoch >= config.epochs or 0 < config.early_stop <= progress.since_best


def validate_epoch(run: ResolvedRun, setup: Setup, fabric: Fabric) -> Validation:
    """The network as it is now on the validation cases."""
    assert setup.validation is not None
    return validate(
        fabric,
        setup.state.judged,
        setup.validation,
        setup.criterion,
        input_scale=setup.input_scale,
        patch=run.config.patch,
        multiple=setup.multiple,
        batch_size=run.config.batch_size,
        first_class=run.task.first_class,
        cells=setup.validation_cells,
    )


class Record:
    """What rank 0 writes down: each epoch at once, the state and the plot now and then."""

    def __init__(self, run: ResolvedRun, runtime: Runtime, folder: Path, *, first_epoch: int) -> None:
        self.run, self.runtime, self.folder, self.first = run, runtime, folder, first_epoch
        self.board = Board(folder / "tensorboard", first_epoch=first_epoch)
        self.started = self.saved = self.drawn = time.monotonic()

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        with suppress(Exception) if failed else nullcontext():  # the run's own failure is what is said
            self.board.close()

    def line(self, row: Row) -> str:
        """One line for the screen, with the time left at the pace so far."""
        epochs, epoch = self.run.config.epochs, int(row["epoch"])
        pace = (time.monotonic() - self.started) / (epoch - self.first + 1)
        return epoch_line(row, epochs=epochs, seconds_left=pace * (epochs - epoch))

    def keep(self, state: RunState, *, last: bool) -> None:
        """Write the epoch that has just ended."""
        rows = state.progress.rows
        self.board.add(rows[-1])
        write_history(self.folder / "history.csv", rows)
        if not last and time.monotonic() - self.saved < self.runtime.save_seconds:
            return
        state.save(self.folder)
        if last or time.monotonic() - self.drawn >= DRAW_SECONDS:
            draw_run(self.run, self.folder, rows)
            self.drawn = time.monotonic()
        self.saved = time.monotonic()


def draw_run(run: ResolvedRun, folder: Path, rows: list[Row]) -> None:
    """The per-epoch plot."""
    config = run.config
    title = f"{run.dataset.name}, {config.model}, {config.loss}, seed {config.seed}"
    draw_curves(folder / "curves", rows, title=title, classes=run.task.names)
