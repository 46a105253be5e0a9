"""A whole run: open the folder, train, score the test cases, say what came out."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from lightning_fabric import Fabric

from sizewise.data.dataset import Dataset
from sizewise.data.split import Split
from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.metrics.cases_csv import RunColumns, score_rows, write_cases
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.cost import write_cost
from sizewise.train.failures import explained
from sizewise.train.loop import train
from sizewise.train.machine import ending_together, make_fabric, settle_precision
from sizewise.train.preparation import Preparation, fit_preparation
from sizewise.train.run_folder import (
    RunBusy,
    discard_unstarted,
    is_finished,
    locked,
    open_run,
    write_versions,
)
from sizewise.train.scoring import load_best, score_cases
from sizewise.train.store import StoreCache
from sizewise.train.task import Task, make_criterion, make_task, problem_json
from sizewise.wording import counted


def say_at_once(line: str) -> None:
    """Print a line so that it is seen now, in a pipe too."""
    print(line, flush=True)


def run_training(
    config: RunConfig,
    dataset: Dataset,
    *,
    folder: Path,
    runtime: Runtime | None = None,
    resume: bool = False,
    stores: StoreCache | None = None,
    say: Callable[[str], None] = say_at_once,
) -> RunConfig:
    """Carry out a run, or what is left of it; returns the settings with nothing left to "auto".

    Args:
        config: complete, as ``resolve`` returns it.
        dataset: opened, likewise.
        folder: the run folder.
        runtime: where and how.
        resume: go on with what the folder holds.
        stores: decoded data that runs of one process share.
        say: takes the lines for the screen.
    """
    runtime = runtime or Runtime()
    fabric = make_fabric(config, runtime)
    config = settle_precision(config, runtime)
    with ending_together(fabric):
        new = False
        if fabric.is_global_zero:
            new = open_run(folder, config, resume=resume)
            if new and resume:
                say(f"{folder} held no run: this one starts from the beginning.")
        else:
            stores, say = None, lambda line: None
        fabric.barrier()
        if is_finished(folder):
            say(f"{folder} is finished already.")
            return config
        try:
            with locked(folder) if fabric.is_global_zero else nullcontext(), explained(config, folder):
                _carry_out(config, dataset, folder, runtime, fabric, stores or StoreCache(), say)
        except RunBusy:
            raise  # the other process has begun it: its files stay
        except BadInput:
            if new:
                discard_unstarted(folder)
            raise
    return config


def _carry_out(
    config: RunConfig,
    dataset: Dataset,
    folder: Path,
    runtime: Runtime,
    fabric: Fabric,
    stores: StoreCache,
    say: Callable[[str], None],
) -> None:
    task = make_task(config, dataset, _saved_split(folder))
    preparation = _saved_preparation(folder) or fit_preparation(dataset, task.cases(task.split.train), config)
    fabric.barrier()
    if fabric.is_global_zero:
        write_versions(folder, runtime, fabric.device)
        write_whole(folder / "split.json", task.split.to_json())
        write_whole(folder / "preparation.json", preparation.to_json())
        write_whole(folder / "problem.json", problem_json(task))
        say(describe(config, task, folder))
    train(config, runtime, folder, fabric=fabric, task=task, preparation=preparation, stores=stores, say=say)
    if fabric.is_global_zero:
        write_cost(folder, fabric.device)
    names = task.split.test or task.split.validation
    subset = "test" if task.split.test else "validation"
    say(f"scoring {counted(len(names), f'{subset} case')} at full resolution")
    channels = len(preparation.mean)
    model = load_best(config, task, folder, device=fabric.device, in_channels=channels)
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
        write_cases(folder / "cases.csv", score_rows(scores, of=run_columns(config, task)))
    fabric.barrier()


def run_columns(config: RunConfig, task: Task) -> RunColumns:
    """How the run's rows are labelled; ``weight`` is λ as it was used, empty where the loss has none."""
    criterion = make_criterion(config, task)
    weights = list(criterion.weights)
    weight = f"{float(weights[1]):g}" if len(weights) > 1 else ""
    return RunColumns(
        run=config.hash,
        data=task.dataset.name,
        model=config.model,
        loss=loss_label(config),
        weight=weight,
        seed=str(config.seed),
    )


def loss_label(config: RunConfig) -> str:
    """The loss as tables call it: with its temperature where that was chosen.

    >>> loss_label(RunConfig(data="synthetic", loss="RCE", loss_options=(("temperature", 5.0),)))
    'RCE τ=5'
    """
    temperature = dict(config.loss_options).get("temperature")
    return config.loss if temperature is None else f"{config.loss} τ={temperature:g}"


def describe(config: RunConfig, task: Task, folder: Path) -> str:
    """The first lines on the screen."""
    split = task.split
    return (
        f"{task.dataset.name}: {len(split.train)} training, {len(split.validation)} validation, "
        f"{counted(len(split.test), 'test case')}, classes {', '.join(task.foreground)}\n"
        f"{config.model} with {make_criterion(config, task)}, recipe {config.recipe}, seed {config.seed}, "
        f"{config.precision} → {folder}"
    )


def _saved_split(folder: Path) -> Split | None:
    path = folder / "split.json"
    return Split.from_json(path.read_text()) if path.exists() else None


def _saved_preparation(folder: Path) -> Preparation | None:
    path = folder / "preparation.json"
    return Preparation.from_json(path.read_text()) if path.exists() else None
