"""The temperature of a run's decisions: fitted on its validation cases, once, and kept in ``decision.json``.

Only the weights that were chosen decide it, so it is the same for every decision, and a run that was finished before
gets one later without training.
"""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from lightning_fabric import Fabric
from torch import Tensor

from sizewise.data.dataset import Case
from sizewise.data.split import Split
from sizewise.decisions.fit import fit_decision
from sizewise.decisions.pixel_sample import pixel_step, thinned
from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.json_files import check_kinds, read_json
from sizewise.progress import track
from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.config import RunConfig
from sizewise.train.datasets import OpenDatasets
from sizewise.train.inference import enlarged
from sizewise.train.predictor import Predictor
from sizewise.train.preparation import UNLABELLED, as_target
from sizewise.train.scoring import predict_cases
from sizewise.train.setup import Log
from sizewise.train.task import Task, make_task
from sizewise.wording import counted

FILE = "decision.json"


@dataclass(frozen=True)
class Calibration:
    """What ``decision.json`` holds.

    Attributes:
        temperature: what logits are divided by before a decision.
        cases: validation cases that it was fitted on; 0 where there are none, and it is 1.
        epoch: of the weights that it is for.
    """

    temperature: float
    cases: int
    epoch: int


def read_calibration(folder: Path) -> Calibration | None:
    """That of the weights in ``best.pt``; None where none was fitted, or for the weights of another epoch."""
    path = folder / FILE
    if not path.exists():
        return None
    values = read_json(path, hint="Remove it: the temperature is then fitted again.")
    check_kinds(values, {"temperature": float, "cases": int, "epoch": int}, path)
    found = Calibration(**{name: values[name] for name in ("temperature", "cases", "epoch")})
    if not 0 < found.temperature < math.inf:
        raise BadInput(f"'{path}': the temperature must be above 0, got {found.temperature}. Remove the file.")
    return found if found.epoch == best_epoch(folder) else None


def calibrate(
    task: Task,
    network: Predictor,
    folder: Path,
    *,
    fabric: Fabric,
    log: Log,
) -> Calibration:
    """The temperature that the run has, or a new one from its validation cases, which rank 0 then writes down."""
    known = fabric.broadcast(read_calibration(folder) if fabric.is_global_zero else None)
    if known is not None:
        return known
    cases = task.cases(task.split.validation)
    if cases:
        log(f"fitting the temperature of decisions on {counted(len(cases), 'validation case')}")
    else:
        log("note: there are no validation cases, so the temperature of decisions is 1")
    pixels = sampled_pixels(task, network, cases, fabric=fabric)
    fitted = fit_temperature(task, pixels) if fabric.is_global_zero and pixels else 1.0
    found = Calibration(fabric.broadcast(fitted), len(cases), best_epoch(folder))
    if fabric.is_global_zero:
        try:
            write_whole(folder / FILE, json.dumps(asdict(found), indent=1))
        except OSError as error:  # somebody else's run, say, that may be read and not written
            log(f"note: {folder / FILE} cannot be written ({error.strerror}): the next time it is fitted again")
    return found


def run_temperature(
    run: Path,
    config: RunConfig,
    network: Predictor,
    *,
    fabric: Fabric,
    log: Log,
) -> float:
    """The temperature of a run's decisions: as it was kept, or fitted now on the validation cases that it had."""
    known = read_calibration(run)
    if known is not None:
        return known.temperature
    try:
        split = Split.read(run / "split.json")
        task = make_task(config, OpenDatasets().open(config), split)
        return calibrate(task, network, run, fabric=fabric, log=log).temperature
    except (BadInput, FileNotFoundError) as error:
        raise BadInput(
            f"{run} has no temperature for decisions yet, and the validation cases that it is fitted on cannot be "
            f"read: {error} Put them back, or give a `temperature`: 1 takes the probabilities as they are."
        ) from error


def fit_temperature(task: Task, pixels: list[tuple[Tensor, Tensor]]) -> float:
    """What fits the labels of these pixels best."""
    activation = "sigmoid" if task.sigmoid else "softmax"
    return float(fit_decision(pixels, activation=activation, ignore_index=UNLABELLED).temperature)


def sampled_pixels(
    task: Task,
    network: Predictor,
    cases: list[Case],
    *,
    fabric: Fabric,
) -> list[tuple[Tensor, Tensor]]:
    """Logits and labels of pixels of all cases, each at its own size, where test cases are decided too.

    A case is predicted once: the fit goes through the pixels many times, so they are kept, as many as fit in memory.
    """
    mine = cases[fabric.global_rank :: fabric.world_size]
    predicted = predict_cases(task, network, mine)
    kept: list[tuple[Tensor, Tensor]] = []
    step = 0
    for case, image, logits in track(predicted, what="Calibrating", total=len(mine)):
        shape = image.pixels.shape[1:]
        large = enlarged(logits, shape)[0]
        step = step or pixel_step(large.numel() * len(cases))  # cases of a data set are of about one size
        target = as_target(task.dataset.reader.target(case), shape, task.dataset.ignore_index).to(large.device)
        if task.sigmoid and not task.multilabel:
            target = target[None]
        kept.append(thinned(large, target, step=step))
    if fabric.world_size > 1:
        everyone: list[list[tuple[Tensor, Tensor]]] = [[] for _ in range(fabric.world_size)]
        torch.distributed.all_gather_object(everyone, [(a.cpu(), b.cpu()) for a, b in kept])
        kept = [(a.to(fabric.device), b.to(fabric.device)) for part in everyone for a, b in part]
    return kept


def best_epoch(folder: Path) -> int:
    """The epoch whose weights ``best.pt`` holds."""
    return int(load_checkpoint(folder / "best.pt")["epoch"])
