"""The temperatures of a run's decisions: fitted on its validation cases, once, and kept in ``decision.json``.

Only the weights that were chosen decide them, so a run that was finished before gets them later without training. There
are two: Dice and IoU are decided at the temperature whose decisions score best on those cases, sizes at the one that
makes probabilities fit (see :mod:`sizewise.decisions.score_fit`).
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
from sizewise.decisions.rule import SIZE
from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.json_files import check_kinds, read_json
from sizewise.progress import track
from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.config import RunConfig
from sizewise.train.datasets import OpenDatasets
from sizewise.train.decided_labels import background_of
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
        temperature: what logits are divided by before a decision for Dice or IoU.
        likelihood: the same before a decision for sizes.
        cases: validation cases that they were fitted on; 0 where there are none, and they are 1.
        epoch: of the weights that they are for.
    """

    temperature: float
    likelihood: float
    cases: int
    epoch: int

    def of(self, decision: str) -> float:
        """The temperature of one decision.

        >>> Calibration(0.7, 1.2, cases=20, epoch=9).of("size")
        1.2
        """
        return self.likelihood if decision == SIZE else self.temperature


def read_calibration(folder: Path) -> Calibration | None:
    """That of the weights in ``best.pt``; None where none was fitted, or for the weights of another epoch."""
    path = folder / FILE
    if not path.exists():
        return None
    values = read_json(path, hint="Remove it: the temperature is then fitted again.")
    if isinstance(values, dict) and "likelihood" not in values:
        return (
            None  # from when there was one temperature, which made regions too large where a few images were all wrong
        )
    kinds = {"temperature": float, "likelihood": float, "cases": int, "epoch": int}
    check_kinds(values, kinds, path)
    found = Calibration(**{name: values[name] for name in kinds})
    for value in (found.temperature, found.likelihood):
        if not 0 < value < math.inf:
            raise BadInput(f"'{path}': the temperature must be above 0, got {value}. Remove the file.")
    return found if found.epoch == best_epoch(folder) else None


def calibrate(
    task: Task,
    network: Predictor,
    folder: Path,
    *,
    fabric: Fabric,
    log: Log,
) -> Calibration:
    """The temperatures that the run has, or new ones from its validation cases, which rank 0 then writes down."""
    known = fabric.broadcast(read_calibration(folder) if fabric.is_global_zero else None)
    if known is not None:
        return known
    cases = task.cases(task.split.validation)
    if cases:
        log(f"fitting the temperature of decisions on {counted(len(cases), 'validation case')}")
    else:
        log("note: there are no validation cases, so the temperature of decisions is 1")
    pixels = sampled_pixels(task, network, cases, fabric=fabric)
    fitted = fit_temperatures(task, pixels) if fabric.is_global_zero and pixels else (1.0, 1.0)
    found = Calibration(*fabric.broadcast(fitted), len(cases), best_epoch(folder))
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
    decision: str,
    fabric: Fabric,
    log: Log,
) -> float:
    """The temperature of a run's decision: as it was kept, or fitted now on the validation cases that it had."""
    known = read_calibration(run)
    if known is not None:
        return known.of(decision)
    try:
        split = Split.read(run / "split.json")
        task = make_task(config, OpenDatasets().open(config), split)
        return calibrate(task, network, run, fabric=fabric, log=log).of(decision)
    except (BadInput, FileNotFoundError) as error:
        raise BadInput(
            f"{run} has no temperature for decisions yet, and the validation cases that it is fitted on cannot be "
            f"read: {error} Put them back, or give a `temperature`: 1 takes the probabilities as they are."
        ) from error


def fit_temperatures(task: Task, pixels: list[tuple[Tensor, Tensor]]) -> tuple[float, float]:
    """What scores best for Dice on these cases, and what fits the labels of their pixels best."""
    activation = "sigmoid" if task.sigmoid else "softmax"
    options = {"activation": activation, "background": background_of(task), "ignore_index": UNLABELLED}
    scored, likely = (fit_decision(pixels, "dice", by=by, **options) for by in ("score", "likelihood"))  # type: ignore[arg-type]
    return float(scored.temperature), float(likely.temperature)


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
