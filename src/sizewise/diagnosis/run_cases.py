"""The test cases of a run folder: predicted once, and measured as they come."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from sizewise.diagnosis.case_measure import CaseMeasure, DiagnosedCase, Problem, measure_case
from sizewise.diagnosis.case_source import CaseSource
from sizewise.errors import BadInput
from sizewise.parallel import map_ahead
from sizewise.train.calibration import read_calibration, run_temperature
from sizewise.train.datasets import OpenDatasets
from sizewise.train.decided_labels import LabelMaker, background_of
from sizewise.train.ensemble import load_predictor
from sizewise.train.inference import enlarged
from sizewise.train.predict import read_members
from sizewise.train.run_folder import read_config
from sizewise.train.scoring import predict_cases, reading_threads
from sizewise.train.task import make_task
from sizewise.wording import counted


def run_cases(run: Path, *, device: str = "auto", log: Callable[[str], None] = print) -> CaseSource:
    """The cases; the temperature is that of the run's validation cases, fitted now if it has none yet."""
    read_config(run)  # says what is wrong with a folder that is no run at all
    for name in ("preparation.json", "split.json", "best.pt"):
        if not (run / name).exists():
            raise BadInput(f"{run} is no trained run: it has no {name}. Finish it first.")
    (member,) = read_members([run])
    config, split = member.config, member.split
    task = make_task(config, OpenDatasets().open(config), split)
    cases = [case for case in task.cases(split.test) if case.target]
    if not cases:
        raise BadInput(f"{run} has no test cases with true label maps. Predict others, and diagnose their folders.")
    network, fabric = load_predictor([member], task, device=device)
    temperature: float | None = None
    fitted = "no temperature is fitted: the run has no validation cases."
    if split.validation:
        temperature = run_temperature(run, config, network, decision="dice", fabric=fabric, log=log)
        kept = read_calibration(run)
        on = counted(kept.cases, "validation case") if kept else "validation cases"
        fitted = f"{temperature:.3g}, fitted on the run's {on}, not on what is diagnosed here."
    problem = Problem(
        classes=tuple(task.names),
        names=task.names,
        activation="sigmoid" if task.sigmoid else "softmax",
        background=background_of(task),
        ignore_index=task.dataset.ignore_index,
        multilabel=task.multilabel,
    )
    maker = LabelMaker(task)

    def measures() -> Iterator[CaseMeasure]:
        predicted = predict_cases(task, network, cases)
        targets = map_ahead(task.dataset.reader.target, cases, threads=reading_threads(task))
        for (case, image, logits), target in zip(predicted, targets, strict=True):
            shape = image.pixels.shape[1:]
            large = enlarged(logits, shape)
            values = (torch.sigmoid(large) if task.sigmoid else torch.softmax(large, 1))[0].cpu().numpy()
            labels = maker.label_map(logits, shape)
            assert math.prod(labels.shape) == math.prod(target.shape), case.name
            yield measure_case(
                DiagnosedCase(case.name, labels, target.astype("int16"), values), problem, temperature=temperature
            )

    return CaseSource(str(run), measures(), problem, len(cases), True, temperature, fitted)
