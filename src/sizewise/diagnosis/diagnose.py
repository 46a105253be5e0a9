"""Diagnose a model: what its decision, its sizes and its places cost it."""

from collections.abc import Callable
from pathlib import Path

from sizewise.checks import check_word
from sizewise.diagnosis.advice import advise
from sizewise.diagnosis.case_measure import NOW
from sizewise.diagnosis.case_source import NO_PROBABILITIES
from sizewise.diagnosis.collected import collect, gains
from sizewise.diagnosis.diagnosis_page import Diagnosis
from sizewise.diagnosis.folder_cases import folder_cases
from sizewise.diagnosis.summary import summarise
from sizewise.errors import BadInput
from sizewise.progress import track
from sizewise.stats.inputs import ACTIVATIONS
from sizewise.wording import counted

FEW_CASES = 10  # as a verdict of a study needs


def diagnose(
    run: Path | None = None,
    *,
    predictions: Path | None = None,
    targets: Path | None = None,
    probabilities: Path | None = None,
    activation: str = "softmax",
    background: int | None = 0,
    ignore_index: int | None = None,
    cases: str = "all",
    jobs: int | None = None,
    device: str = "auto",
    log: Callable[[str], None] = print,
) -> Diagnosis:
    """Diagnose a run on its test cases, or any model from folders; nothing is written.

    Args:
        run: a run folder; what follows but ``device`` and ``log`` is then not used.
        predictions: a folder of label maps. None: the likeliest labels of ``probabilities``.
        targets: the true label maps, with the same names.
        probabilities: a folder as :func:`sizewise.probability_maps.decide_folder.decide_folder` reads it. None: those
            that lie beside the predictions, as nnU-Net writes them; where there are none, what needs them is left out.
        activation: of the probabilities: "softmax", or "sigmoid" for one channel.
        background: the class that is not scored; None: all are.
        ignore_index: target pixels that count for nothing.
        cases: "all": every target must have a prediction; "predicted": those without one are left out.
        jobs: processes; None: one per core.
        device: of a run: "auto", "cpu" or "cuda".
        log: takes lines for the screen.

    Returns:
        the numbers; :func:`~sizewise.diagnosis.diagnosis_page.write_diagnosis` makes the page.

    Raises:
        BadInput: what is wrong with the folders, with the file's name.
    """
    try:
        check_word("diagnose", "`activation`", activation, ACTIVATIONS)
    except ValueError as error:
        raise BadInput(str(error)) from error
    if run is not None and (predictions or targets or probabilities):
        raise BadInput("a run folder brings its own cases. Give either it, or `targets` with `predictions`.")
    if run is not None:
        from sizewise.diagnosis.run_cases import run_cases

        source = run_cases(run, device=device, log=log)
    elif targets is None:
        raise BadInput("wanted a run folder, or `targets` with `predictions` (and `probabilities`, if there are any).")
    else:
        source = folder_cases(
            targets,
            predictions=predictions,
            probabilities=probabilities,
            activation=activation,
            background=background,
            ignore_index=ignore_index,
            cases=cases,
            jobs=jobs,
        )
    found = collect(track(source.measures, what="Diagnosing", total=source.count))
    answers = gains(found)
    if NOW not in answers:
        raise BadInput(
            f"'{source.title}': neither the {source.count} predictions nor their targets hold a class: every valid "
            "pixel is background. Wanted label maps with class ids 1, 2, …; `background=none` counts 0 as a class."
        )
    classes = summarise(found, source.problem.names)
    notes = list(source.notes)
    if not source.probabilities:
        notes.append(f"Reliability, thresholds and (a) to (c) are left out: {NO_PROBABILITIES}")
    if len(found.cases) < FEW_CASES:
        notes.append(
            f"With {counted(len(found.cases), 'case')} a standard error is itself a guess, and so is the advice: "
            f"diagnose {FEW_CASES} or more before you rely on it."
        )
    known = [one for one in classes if one.relative == one.relative]
    relative = sum(one.relative for one in known) / len(known) if known else 0.0
    return Diagnosis(
        source.title,
        advise(answers, relative_size=relative),
        answers,
        classes,
        found,
        source.temperature,
        source.fitted,
        notes,
    )
