"""A whole run: open the folder, train, score the test cases, say what came out."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from lightning_fabric import Fabric

from sizewise.data.dataset import Dataset
from sizewise.data.split import Split
from sizewise.errors import BadInput
from sizewise.metrics.table import RunColumns, score_rows, write_cases
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.failures import explained
from sizewise.train.loop import train
from sizewise.train.preparation import Preparation, fit_preparation
from sizewise.train.run_folder import is_finished, locked, open_run, write_atomically, write_versions
from sizewise.train.scoring import load_best, score_cases
from sizewise.train.task import Task, make_criterion, make_task, problem_json


def run_training(
    config: RunConfig,
    dataset: Dataset,
    *,
    folder: Path,
    runtime: Runtime | None = None,
    resume: bool = False,
    say: Callable[[str], None] = print,
) -> RunConfig:
    """Carry out a run, or what is left of it; returns the settings with nothing left to "auto".

    Args:
        config: complete, as ``resolve`` returns it.
        dataset: opened, likewise.
        folder: the run folder.
        runtime: where and how.
        resume: go on with what the folder holds.
        say: takes the lines for the screen.
    """
    runtime = runtime or Runtime()
    fabric = make_fabric(config, runtime)
    config = replace(config, precision=_precision_word(fabric))
    if fabric.is_global_zero:
        open_run(folder, config, resume=resume)
    fabric.barrier()
    if is_finished(folder):
        say(f"{folder} is finished already.")
        return config
    if fabric.is_global_zero:
        with locked(folder), explained(config, folder):
            _carry_out(config, dataset, folder, runtime, fabric, say)
    else:
        with explained(config, folder):
            _carry_out(config, dataset, folder, runtime, fabric, lambda line: None)
    return config


def _carry_out(
    config: RunConfig, dataset: Dataset, folder: Path, runtime: Runtime, fabric: Fabric, say: Callable[[str], None]
) -> None:
    task = make_task(config, dataset, _saved_split(folder))
    preparation = _saved_preparation(folder) or fit_preparation(dataset, task.cases(task.split.train), config)
    fabric.barrier()
    if fabric.is_global_zero:
        write_versions(folder, runtime, fabric.device)
        write_atomically(folder / "split.json", task.split.to_json())
        write_atomically(folder / "preparation.json", preparation.to_json())
        write_atomically(folder / "problem.json", problem_json(task))
        say(describe(config, task, folder))
    train(config, runtime, folder, fabric=fabric, task=task, preparation=preparation, say=say)
    names = task.split.test or task.split.validation
    channels = len(preparation.mean)
    model = load_best(config, task, folder, device=fabric.device, in_channels=channels)
    scores = score_cases(config, task, preparation, model, names, fabric=fabric)
    if fabric.is_global_zero:
        write_cases(folder / "cases.csv", score_rows(scores, of=run_columns(config, task)))
    fabric.barrier()


def make_fabric(config: RunConfig, runtime: Runtime) -> Fabric:
    """Device, precision and processes."""
    if runtime.accelerator == "cuda" and not torch.cuda.is_available():
        raise BadInput("--device cuda was asked for, but torch finds no CUDA GPU here. Use --device cpu.")
    accelerator = "cuda" if runtime.accelerator != "cpu" and torch.cuda.is_available() else "cpu"
    ranks = runtime.devices * runtime.nodes
    if config.batch_size % ranks:
        raise BadInput(f"--batch-size {config.batch_size} is shared by {ranks} devices; make it a multiple.")
    precision = config.precision
    if precision == "auto":
        precision = "bfloat16" if accelerator == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    if runtime.deterministic:
        _be_deterministic()
    elif accelerator == "cuda":
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")
    fabric = Fabric(
        accelerator=accelerator,
        devices=runtime.devices,
        num_nodes=runtime.nodes,
        precision="bf16-mixed" if precision == "bfloat16" else "32-true",
    )
    fabric.launch()
    return fabric


def _be_deterministic() -> None:
    import os

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True


def run_columns(config: RunConfig, task: Task) -> RunColumns:
    """How the run's rows are labelled; ``weight`` is λ as it was used, empty where the loss has none."""
    criterion = make_criterion(config, task)
    weights = list(criterion.weights)
    weight = f"{float(weights[1]):g}" if len(weights) > 1 else ""
    return RunColumns(
        run=config.hash,
        data=task.dataset.name,
        model=config.model,
        loss=config.loss,
        weight=weight,
        seed=str(config.seed),
    )


def describe(config: RunConfig, task: Task, folder: Path) -> str:
    """The first lines on the screen."""
    split = task.split
    return (
        f"{task.dataset.name}: {len(split.train)} training, {len(split.validation)} validation, {len(split.test)} test "
        f"cases, classes {', '.join(task.foreground)}\n"
        f"{config.model} with {make_criterion(config, task)}, recipe {config.recipe}, seed {config.seed}, "
        f"{config.precision} → {folder}"
    )


def _precision_word(fabric: Fabric) -> Literal["float32", "bfloat16"]:
    return "bfloat16" if "bf16" in str(fabric.strategy.precision.precision) else "float32"


def _saved_split(folder: Path) -> Split | None:
    path = folder / "split.json"
    return Split.from_json(path.read_text()) if path.exists() else None


def _saved_preparation(folder: Path) -> Preparation | None:
    path = folder / "preparation.json"
    return Preparation.from_json(path.read_text()) if path.exists() else None
