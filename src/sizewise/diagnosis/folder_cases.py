"""Cases from folders, whatever program wrote them: label maps, true label maps, and probabilities if there are any."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from sizewise.data.dataset_json import read_dataset_json
from sizewise.data.file_names import stem
from sizewise.decisions.fit import fit_decision
from sizewise.decisions.pixel_sample import pixel_step
from sizewise.diagnosis.case_measure import CaseMeasure, DiagnosedCase, Problem, measure_case
from sizewise.diagnosis.case_source import NO_PROBABILITIES, CaseSource
from sizewise.errors import BadInput
from sizewise.evaluate.label_pair import read_pair
from sizewise.evaluate.matching import Pair, match_folders
from sizewise.parallel import available_cores, map_in_processes, map_threads
from sizewise.probability_maps.fit_folder import IGNORED, fitting_batch, matched_targets, read_target
from sizewise.probability_maps.probability_files import ARRAYS, ProbabilityFile, find_probabilities
from sizewise.probability_maps.read_probabilities import check_background, read_probabilities
from sizewise.wording import counted

FITTED_VALUES = 1 << 21  # logits of each half that the temperature is fitted on
FEW = 12  # cases for which further processes do not pay: each has to import torch


@dataclass(frozen=True)
class Job:
    """One case: its files, and the temperature that other cases gave."""

    name: str
    predicted: Path | None
    target: Path
    probabilities: ProbabilityFile | None = None
    temperature: float | None = None


def folder_cases(
    targets: Path,
    *,
    predictions: Path | None = None,
    probabilities: Path | None = None,
    activation: str = "softmax",
    background: int | None = 0,
    ignore_index: int | None = None,
    cases: str = "all",
    jobs: int | None = None,
) -> CaseSource:
    """The cases of folders, matched by name; see :func:`sizewise.diagnosis.diagnose.diagnose`."""
    if predictions is None and probabilities is None:
        raise BadInput("`targets` alone say nothing: give `predictions`, a folder of label maps, or `probabilities`.")
    notes = []
    if probabilities is None and predictions is not None and _holds_arrays(predictions):
        probabilities = predictions
        notes.append("Probabilities lie beside the predictions, and are used.")
    work, left_out = _matched_jobs(targets, predictions, probabilities, cases)
    if left_out:
        one, many = "target has no prediction and is left out.", "targets have no prediction and are left out."
        notes.append(counted(left_out, one, many))
    problem = Problem(activation=activation, background=background, ignore_index=ignore_index)
    problem = replace(problem, names=_class_names(predictions or probabilities))
    temperature, fitted = None, NO_PROBABILITIES
    if probabilities is not None:
        problem = replace(problem, classes=_classes(work, problem))
        work, temperature, fitted = _cross_fitted(work, problem)
    processes = (jobs or available_cores()) if len(work) >= FEW else 1
    return CaseSource(
        title=str(predictions or probabilities),
        measures=map_in_processes(partial(measure_files, problem=problem), work, jobs=processes),
        problem=problem,
        count=len(work),
        probabilities=probabilities is not None,
        temperature=temperature,
        fitted=fitted,
        notes=tuple(notes),
    )


def measure_files(job: Job, *, problem: Problem) -> CaseMeasure:
    """Read and measure one case; runs in a worker."""
    if job.probabilities is None:
        assert job.predicted is not None, "a case has one or the other"
        pair = read_pair(Pair(job.name, job.predicted, job.target), classes=None, ignore_index=problem.ignore_index)
        return measure_case(DiagnosedCase(job.name, pair.predicted.labels, pair.target.labels), problem)
    values, target = _read(job, problem)
    inner = replace(problem, ignore_index=None if problem.ignore_index is None else IGNORED)
    if job.predicted is not None:
        pair = read_pair(Pair(job.name, job.predicted, job.target), classes=None, ignore_index=problem.ignore_index)
        predicted = pair.predicted.labels.reshape(target.shape)
    elif problem.activation == "sigmoid":
        predicted = (values[0] > 0.5).view(np.uint8)
    else:
        predicted = values.argmax(0)
    small = target.astype(np.int16), predicted.astype(np.int16)
    return measure_case(DiagnosedCase(job.name, small[1], small[0], values), inner, temperature=job.temperature)


def _read(job: Job, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    assert job.probabilities is not None
    assert problem.classes is not None
    values = read_probabilities(job.probabilities, activation=problem.activation).values.astype(np.float32, copy=False)
    channels = len(problem.classes) if problem.activation == "sigmoid" else max(problem.classes) + 1
    if len(values) != channels:
        raise BadInput(
            f"'{job.probabilities.path}' has {len(values)} classes, and the first case {channels}. Wanted one model's "
            "probabilities in a folder."
        )
    classes = 2 if problem.activation == "sigmoid" else channels
    return values, read_target(job.target, values.shape[1:], classes=classes, ignore_index=problem.ignore_index)


def _matched_jobs(
    targets: Path, predictions: Path | None, probabilities: Path | None, cases: str
) -> tuple[list[Job], int]:
    files = [] if probabilities is None else find_probabilities(probabilities, "probabilities")
    if predictions is None:
        return [Job(file.case, None, path, file) for file, path in matched_targets(files, targets, "targets")], 0
    pairs, _, left_out = match_folders(predictions, targets, cases=cases)
    by_case = {file.case: file for file in files}
    found = {pair.name: by_case.get(stem(pair.predicted)) or by_case.get(pair.name) for pair in pairs}
    missing = [stem(pair.predicted) for pair in pairs if found[pair.name] is None]
    if probabilities is not None and missing:
        raise BadInput(
            f"`probabilities` '{probabilities}' has none for {counted(len(missing), 'case')}, such as '{missing[0]}'. "
            "Wanted a file for each prediction, with its name."
        )
    return [Job(pair.name, pair.predicted, pair.target, found[pair.name]) for pair in pairs], len(left_out)


def _classes(work: Sequence[Job], problem: Problem) -> tuple[int, ...]:
    """The ids that the first case's probabilities are of."""
    assert work[0].probabilities is not None
    channels = len(read_probabilities(work[0].probabilities, activation=problem.activation).values)
    if problem.activation == "softmax":
        check_background(problem.background, channels, work[0].probabilities.path)
        return tuple(k for k in range(channels) if k != problem.background)
    if channels > 1:
        raise BadInput(
            f"'{work[0].probabilities.path}' has {channels} channels that may overlap, which one label map cannot "
            "hold. Diagnose each channel by itself, with maps of 0 and 1; a run folder is read whatever it has."
        )
    return (1,)


def _cross_fitted(work: list[Job], problem: Problem) -> tuple[list[Job], float | None, str]:
    """Each case with the temperature of the half of the cases that it is not in."""
    if len(work) < 2:
        return work, None, "no temperature is fitted: that takes two cases, one to fit on and one to decide."
    first, _ = _read(work[0], problem)
    step = pixel_step(first.size * len(work) // 2, most=FITTED_VALUES)

    def batch(job: Job) -> tuple:
        values, target = _read(job, problem)
        return fitting_batch(values, target, activation=problem.activation, step=step)

    batches = map_threads(batch, work, what="Fitting")
    halves = []
    for half in (0, 1):
        mine = batches[half::2]
        if not any((labels != IGNORED).any() for _, labels in mine):
            return work, None, "no temperature is fitted: half of the cases have no valid pixel."
        kind = {"activation": problem.activation, "background": problem.background}
        found = fit_decision(mine, ignore_index=IGNORED, by="score", **kind)  # type: ignore[arg-type]
        halves.append(float(found.temperature))
    jobs = [replace(job, temperature=halves[1 - number % 2]) for number, job in enumerate(work)]
    text = f"cross-fitted: {halves[1]:.3g} for one half of these cases and {halves[0]:.3g} for the other, each from the"
    return jobs, math.sqrt(halves[0] * halves[1]), f"{text} true label maps of the half that it does not decide."


def _holds_arrays(folder: Path) -> bool:
    return folder.is_dir() and any(path.suffix.lower() in ARRAYS for path in folder.iterdir())


def _class_names(folder: Path | None) -> dict[int, str]:
    """By id, where nnU-Net left its ``dataset.json`` in the folder."""
    if folder is None or not (folder / "dataset.json").is_file():
        return {}
    labels = read_dataset_json(folder).get("labels")
    given = labels.items() if isinstance(labels, dict) else ()
    return {value: str(name) for name, value in given if isinstance(value, int) and not isinstance(value, bool)}
