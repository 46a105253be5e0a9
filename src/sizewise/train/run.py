"""A whole run: open the folder, train, score the test cases."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from lightning_fabric import Fabric

from sizewise.data.split import Split
from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.loss_formula import is_formula
from sizewise.metrics.arms import loss_cell
from sizewise.metrics.cases_csv import ARGMAX, RunColumns, score_rows, write_cases
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.cost import write_cost
from sizewise.train.failures import explained
from sizewise.train.history import Row
from sizewise.train.loop import train
from sizewise.train.machine import cpu_threads, ending_together, make_fabric, settle_precision
from sizewise.train.preparation import Preparation, fit_preparation
from sizewise.train.resolve import ResolvedRun
from sizewise.train.run_folder import (
    RunBusy,
    discard_unstarted,
    is_finished,
    locked,
    open_run,
    threads_begun_with,
    write_versions,
)
from sizewise.train.scoring import load_best, score_cases
from sizewise.train.setup import Log
from sizewise.train.store import StoreCache
from sizewise.train.task import problem_json
from sizewise.wording import counted


def print_at_once(line: str) -> None:
    """Print a line so that it is seen now, in a pipe too."""
    print(line, flush=True)


def run_training(
    run: ResolvedRun,
    *,
    folder: Path,
    runtime: Runtime | None = None,
    resume: bool = False,
    stores: StoreCache | None = None,
    log: Log = print_at_once,
    on_epoch: Callable[[Row], None] = lambda row: None,
) -> RunConfig:
    """Carry out a run, or what is left of it; returns the settings with nothing left to "auto".

    Args:
        run: complete, as ``resolve`` returns it.
        folder: the run folder.
        runtime: where and how.
        resume: go on with what the folder holds.
        stores: decoded data that runs of one process share.
        log: takes the lines for the screen.
        on_epoch: is called with the row of each epoch when it has been written.
    """
    runtime = runtime or Runtime()
    fabric = make_fabric(run.config, runtime)
    run = replace(run, config=settle_precision(run.config, runtime))
    with ending_together(fabric):
        new = False
        if fabric.is_global_zero:
            new = open_run(folder, run.config, resume=resume)
            if new and resume:
                log(f"{folder} held no run: this one starts from the beginning.")
        else:
            stores, log = None, lambda line: None
        fabric.barrier()
        if is_finished(folder):
            log(f"{folder} is finished already.")
            return run.config
        threads = threads_begun_with(folder) or runtime.threads
        try:
            with (
                locked(folder) if fabric.is_global_zero else nullcontext(),
                explained(run.config, folder),
                cpu_threads(threads if fabric.device.type == "cpu" else 0),
            ):
                _carry_out(run, folder, runtime, fabric, stores or StoreCache(), log, on_epoch)
        except RunBusy:
            raise  # the other process has begun it: its files stay
        except BadInput:
            if new and fabric.is_global_zero:  # the corrected command may use the folder
                discard_unstarted(folder)
            raise
    return run.config


def _carry_out(
    run: ResolvedRun,
    folder: Path,
    runtime: Runtime,
    fabric: Fabric,
    stores: StoreCache,
    log: Log,
    on_epoch: Callable[[Row], None],
) -> None:
    config, task = run.config, run.task
    if (folder / "split.json").exists():  # as it was drawn when the run began
        task = replace(task, split=Split.from_json((folder / "split.json").read_text()))
        run = replace(run, task=task)
    saved = folder / "preparation.json"
    if saved.exists():
        preparation = Preparation.from_json(saved.read_text())
    else:
        preparation = fit_preparation(run.dataset, task.cases(task.split.train), config)
    fabric.barrier()
    if fabric.is_global_zero:
        write_versions(folder, runtime, fabric.device)
        write_whole(folder / "split.json", task.split.to_json())
        write_whole(saved, preparation.to_json())
        write_whole(folder / "problem.json", problem_json(task))
        log(describe(run, folder))
    train(run, runtime, folder, fabric=fabric, preparation=preparation, stores=stores, log=log, on_epoch=on_epoch)
    if fabric.is_global_zero:
        write_cost(folder, fabric.device)
    names = task.split.test or task.split.validation
    subset = "test" if task.split.test else "validation"
    log(f"scoring {counted(len(names), f'{subset} case')} at full resolution")
    model = load_best(config, task, folder, device=fabric.device, in_channels=len(preparation.mean))
    scores = score_cases(
        config,
        task,
        preparation,
        model,
        names,
        fabric=fabric,
        overlays=folder / "overlays",
        sharing=runtime.sharing,
    )
    if fabric.is_global_zero:
        write_cases(folder / "cases.csv", score_rows(scores, of=run_columns(run)))
    fabric.barrier()


def run_columns(run: ResolvedRun) -> RunColumns:
    """How the run's rows are labelled; ``weight`` is λ as it was used, empty where the loss has none or says it."""
    config, weights = run.config, list(run.criterion.weights)
    return RunColumns(
        run=config.hash,
        data=run.dataset.name,
        model=config.model,
        loss=loss_cell(config.loss, dict(config.loss_options).get("temperature")),
        weight=f"{float(weights[1]):g}" if len(weights) > 1 and not is_formula(config.loss) else "",
        seed=str(config.seed),
        decision=ARGMAX,
    )


def describe(run: ResolvedRun, folder: Path) -> str:
    """The first lines on the screen."""
    config, task, split = run.config, run.task, run.task.split
    unmasked = [case.name for case in run.dataset.cases if not case.target and case.subset != "test"]
    named = ", ".join(unmasked[:3]) + (" …" if len(unmasked) > 3 else "")
    note = f"\nnote: {counted(len(unmasked), 'image has', 'images have')} no mask, and no use here: {named}"
    return (
        f"{run.dataset.name}: {len(split.train)} training, {len(split.validation)} validation, "
        f"{counted(len(split.test), 'test case')}, classes {', '.join(task.foreground)}\n"
        f"{config.model} with {run.criterion}, recipe {config.recipe}, seed {config.seed}, "
        f"{config.precision} → {folder}"
    ) + (note if unmasked else "")
