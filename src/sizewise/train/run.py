"""A whole run: open the folder, train, score the test cases."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from lightning_fabric import Fabric

from sizewise.data.split import Split
from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.metrics.cases_csv import ARGMAX, read_cases
from sizewise.progress import print_at_once
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.cost import write_cost
from sizewise.train.decided_labels import decision_names
from sizewise.train.failures import explained
from sizewise.train.history import Row
from sizewise.train.loggers.logger import LoggedRun, Loggers, make_loggers, run_files, run_scores_by_name
from sizewise.train.loop import train
from sizewise.train.machine import cpu_threads, ending_together, make_fabric, settle_precision
from sizewise.train.model_card import FILE as CARD
from sizewise.train.model_card import write_model_card
from sizewise.train.preparation import Preparation, fit_preparation
from sizewise.train.resolve import ResolvedRun
from sizewise.train.run_folder import (
    RunBusy,
    discard_unstarted,
    is_finished,
    locked,
    open_run,
    read_config,
    run_name,
    threads_begun_with,
    write_versions,
)
from sizewise.train.run_scores import write_test_scores
from sizewise.train.setup import Log
from sizewise.train.store import StoreCache
from sizewise.train.task import Task, problem_json
from sizewise.wording import counted, left_out


def run_training(
    run: ResolvedRun,
    *,
    folder: Path,
    runtime: Runtime | None = None,
    resume: bool = False,
    decisions: Sequence[str] = (ARGMAX,),
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
        decisions: how the labels of the test cases are decided; see ``decided_labels.decision_names``. They are no
            settings of the run: the weights are the same, and a finished run gets what it lacks.
        stores: decoded data that runs of one process share.
        log: takes the lines for the screen.
        on_epoch: is called with the row of each epoch when it has been written.
    """
    runtime, decisions = runtime or Runtime(), decision_names(decisions, argument="decisions")
    run = replace(run, config=_settled(run.config, runtime, folder))
    fabric = make_fabric(run.config, runtime)
    with ending_together(fabric):
        loggers = make_loggers(runtime.logger if fabric.is_global_zero else "", log)  # before there is a folder
        new = False
        if fabric.is_global_zero:
            new = open_run(folder, run.config, resume=resume)
            if new and resume:
                log(f"{folder} held no run: this one starts from the beginning.")
        else:
            stores, log = None, lambda line: None
        fabric.barrier()
        if is_finished(folder, decisions):
            if fabric.is_global_zero and not (folder / CARD).exists():  # removed, or of an earlier version
                write_model_card(run, folder, read_cases(folder / "cases.csv"))
            log(f"{folder} is finished already.")
            if loggers:
                log(f"note: nothing was trained or scored, so {runtime.logger} is shown nothing.")
            return run.config
        threads = threads_begun_with(folder) or runtime.threads
        try:
            with (
                locked(folder) if fabric.is_global_zero else nullcontext(),
                explained(run.config, folder),
                cpu_threads(threads if fabric.device.type == "cpu" else 0),
            ):
                _carry_out(run, folder, runtime, fabric, stores or StoreCache(), loggers, log, on_epoch, decisions)
        except RunBusy:
            raise  # the other process has begun it: its files stay
        except BadInput:
            if new and fabric.is_global_zero:  # the corrected command may use the folder
                discard_unstarted(folder)
            raise
    return run.config


def _settled(config: RunConfig, runtime: Runtime, folder: Path) -> RunConfig:
    """With the precision of this machine; a finished run, which only gets more scores, keeps that of its training."""
    if config.precision == "auto" and is_finished(folder):
        return replace(config, precision=read_config(folder).precision)
    return settle_precision(config, runtime)


def _carry_out(
    run: ResolvedRun,
    folder: Path,
    runtime: Runtime,
    fabric: Fabric,
    stores: StoreCache,
    loggers: Loggers,
    log: Log,
    on_epoch: Callable[[Row], None],
    decisions: Sequence[str],
) -> None:
    config, task = run.config, run.task
    if (folder / "split.json").exists():  # as it was drawn when the run began
        task = replace(task, split=Split.read(folder / "split.json"))
        run = replace(run, task=task)
    saved = folder / "preparation.json"
    if saved.exists():
        preparation = Preparation.read(saved)
    else:
        preparation = fit_preparation(run.dataset, task.cases(task.split.train), config)
    fabric.barrier()
    shown = LoggedRun(run_name(config, run.dataset.name), folder, asdict(config), task.names)
    if is_finished(folder):  # trained and scored before: the rest is decided from its weights
        loggers.begin(shown)
        write_test_scores(run, folder, runtime, fabric=fabric, preparation=preparation, decisions=decisions, log=log)
        show_end(loggers, folder, task, fabric)
        return
    if fabric.is_global_zero:
        check_scored_cases(task)
        write_versions(folder, runtime, fabric.device)
        write_whole(folder / "split.json", task.split.to_json())
        write_whole(saved, preparation.to_json())
        write_whole(folder / "problem.json", problem_json(task))
        log(describe(run, folder))
    loggers.begin(shown)

    def after_epoch(row: Row) -> None:
        loggers.epoch(row)
        on_epoch(row)

    train(run, runtime, folder, fabric=fabric, preparation=preparation, stores=stores, log=log, on_epoch=after_epoch)
    if fabric.is_global_zero:
        write_cost(folder, fabric.device)
    write_test_scores(run, folder, runtime, fabric=fabric, preparation=preparation, decisions=decisions, log=log)
    show_end(loggers, folder, task, fabric)


def show_end(loggers: Loggers, folder: Path, task: Task, fabric: Fabric) -> None:
    """Show trackers the scores and files of a run folder; rank 0 alone has written them."""
    if fabric.is_global_zero and loggers:
        loggers.end(run_scores_by_name(folder, task.names), run_files(folder))


def check_scored_cases(task: Task) -> None:
    """Say now, not after hours of training, where a test case could not be scored; others are read when it begins."""
    for case in task.cases(task.split.test):
        task.dataset.reader.check_size(case)


def describe(run: ResolvedRun, folder: Path) -> str:
    """The first lines on the screen."""
    config, task, split = run.config, run.task, run.task.split
    unmasked = [case.name for case in run.dataset.cases if not case.target and case.subset != "test"]
    note = f"\nnote: {left_out(unmasked, 'image has no mask', 'images have no mask')}"
    return (
        f"{run.dataset.name}: {len(split.train)} training, {len(split.validation)} validation, "
        f"{counted(len(split.test), 'test case')}, classes {', '.join(task.foreground)}\n"
        f"{config.model} with {run.criterion}, recipe {config.recipe}, seed {config.seed}, "
        f"{config.precision} → {folder}"
    ) + (note if unmasked else "")
