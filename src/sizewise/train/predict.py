"""Label maps from a trained run, for a data set or a folder of images, in the geometry of each image."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sizewise.checks import check_word
from sizewise.data.case_groups import count_groups
from sizewise.data.dataset import Case, Dataset
from sizewise.data.split import Split
from sizewise.errors import BadInput
from sizewise.files import save_array
from sizewise.metrics.cases_csv import ARGMAX, score_rows, write_cases
from sizewise.metrics.label_map_stream import LabelMaps, score_label_maps
from sizewise.progress import track
from sizewise.train.calibration import read_calibration, run_temperature
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.datasets import OpenDatasets, full_path
from sizewise.train.decided_labels import LabelMaker, background_of, decision_names
from sizewise.train.failures import explained_prediction
from sizewise.train.machine import make_fabric
from sizewise.train.plain_images import holds_images, plain_images
from sizewise.train.preparation import Preparation
from sizewise.train.resolve import ResolvedRun
from sizewise.train.run_folder import read_config
from sizewise.train.run_scores import run_columns
from sizewise.train.scoring import load_best, predict_cases
from sizewise.train.task import Task, make_criterion, make_task
from sizewise.wording import counted

SUBSETS = ("test", "validation", "train", "unlabelled", "all")


def predict_folder(
    run: Path,
    data: str,
    *,
    out: Path,
    subset: str = "test",
    score: bool = False,
    decide: str = ARGMAX,
    temperature: float | None = None,
    save_probabilities: bool = False,
    groups: str = "",
    device: str = "auto",
    log: Callable[[str], None] = print,
) -> list[Path]:
    """Write a label map for each case; returns the files.

    Args:
        run: a run folder with best.pt.
        data: a data set, a folder of images without masks, or one image.
        out: where the label maps go; existing ones of the same cases are replaced.
        subset: of a data set: "test", "validation", "train" as the run split it (or the data set's own);
            "unlabelled", the cases without a target, such as those of a challenge's server; or "all".
        score: also write ``cases.csv``, with the scores of the cases that have a target.
        decide: "argmax", "dice", "iou" or "size": how labels are decided; see :func:`sizewise.decide`.
        temperature: what logits are divided by before a decision other than argmax. None: what fits the run's
            validation cases, which are predicted for it the first time; decision.json in the run folder keeps it.
        save_probabilities: also write ``CASE.npy`` for each case: (K, *S) float16, the axes as in its label map,
            without the temperature. ``sizewise decide`` reads them back.
        groups: of a data set: which cases belong together, as for training; they are counted, and a pattern that does
            not fit is refused. The run's own where it is the data that was trained on.
        device: "auto", "cpu" or "cuda".
        log: takes lines for the screen.
    """
    decision_names([decide], argument="decide")
    if temperature is not None and not 0 < temperature < math.inf:
        raise BadInput(f"`temperature` must be a number above 0, got {temperature:g}.")
    config = read_config(run)
    trained = read_problem(run)
    preparation = Preparation.from_json(_text(run / "preparation.json"))
    dataset, cases = _cases(run, config, data, trained, subset, groups, channels=len(preparation.mean))
    if out.exists() and not out.is_dir():
        raise BadInput(f"`out` {out} is a file; name a folder.")
    labelled = {case.name for case in cases if case.target} if score else set()
    if score and not labelled:
        raise BadInput(f"`score`: none of the cases of {data} has a true label map. Leave `score` out.")
    if score and (out / "config.json").exists():
        raise BadInput(f"`out` {out} is a run folder, whose cases.csv holds the run's own scores. Name another folder.")
    task = make_task(config, dataset, Split((), (), ()))
    fabric = make_fabric(config, Runtime(accelerator=device))  # type: ignore[arg-type]
    model = load_best(config, task, run, device=fabric.device, in_channels=len(preparation.mean))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"`out` {out} cannot be made: {error.strerror or error}. Name another folder.") from error
    if decide != ARGMAX and temperature is None:
        temperature = run_temperature(run, config, preparation, model, fabric=fabric, log=log)
    maker = LabelMaker(task, temperature or 1.0)
    files: list[Path] = []

    def written() -> Iterator[LabelMaps]:
        """Each prediction goes to its file; those with a target go on to be scored."""
        predicted = predict_cases(config, task, preparation, model, cases, fabric=fabric)
        for case, image, logits in track(predicted, what="Predicting", total=len(cases)):
            shape = image.pixels.shape[1:]
            labels = maker.label_map(logits, shape, decide)
            if save_probabilities:
                save_array(out / f"{case.name}.npy", dataset.reader.as_stored(maker.probabilities(logits, shape), case))
            files.append(dataset.reader.write(labels, case, out))
            if case.name in labelled:
                yield LabelMaps(case.name, labels, dataset.reader.target(case), image.spacing, decide)

    with explained_prediction(out):
        scores = dict(
            score_label_maps(
                written(),
                expected=len(labelled),
                classes=tuple(task.names),
                nsd_tolerance=config.nsd_tolerance,
                ignore_index=dataset.ignore_index,
            )
        )
        if score:
            columns = run_columns(ResolvedRun(config, task, make_criterion(config, task)), decide)
            by_case = {named.case: found for named, found in scores.items()}
            write_cases(out / "cases.csv", score_rows(by_case, of=columns))
    how = "" if decide == ARGMAX else f", decided for {decide} at temperature {maker.temperature:.3g}"
    beside = " with probabilities (CASE.npy, classes first)" if save_probabilities else ""
    known = {case.name: case.group for case in cases if case.group}
    of = f" ({counted(count_groups(known, known), 'group')})" if known else ""
    log(f"{counted(len(files), 'label map')}{of} of {', '.join(task.foreground)}{how}{beside} → {out}")
    return files


def scored_names(run: Path) -> dict[int, str]:
    """The classes that a run's scores are of, by id."""
    return run_task(run).names


def deciding_options(run: Path) -> dict[str, str]:
    """What ``sizewise decide`` has to know of a run's saved probabilities, where it is not the default."""
    task, kept = run_task(run), read_calibration(run)
    options = {"activation": "sigmoid"} if task.sigmoid else {}
    if background_of(task) is None:
        options["background"] = "none"
    return options if kept is None else options | {"temperature": f"{kept.temperature:.4g}"}


def run_task(run: Path) -> Task:
    """What a run's network gives, without any case."""
    problem = {name: value for name, value in read_problem(run).items() if name != "axes"}
    like = Dataset(cases=(), reader=None, **problem)  # type: ignore[arg-type]
    return make_task(read_config(run), like, Split((), (), ()))


def read_problem(run: Path) -> dict[str, Any]:
    """What :func:`~sizewise.train.task.problem_json` wrote."""
    try:
        values = json.loads(_text(run / "problem.json"))
        values.pop("length_unit", None)  # of the images that were trained on; others bring their own
        return values | {"classes": tuple(values["classes"]), "modality": tuple(values["modality"])}
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise BadInput(f"{run / 'problem.json'} cannot be read: {error}.") from error


def _cases(
    run: Path, config: RunConfig, data: str, trained: dict[str, Any], subset: str, groups: str, *, channels: int
) -> tuple[Dataset, list[Case]]:
    try:
        check_word("predict", "`subset`", subset, SUBSETS)
    except ValueError as error:
        raise BadInput(str(error)) from error
    axes = trained.pop("axes")
    like = Dataset(cases=(), reader=None, **trained)  # type: ignore[arg-type]
    path = Path(full_path(data))
    try:
        same = full_path(data) == config.data
        name, usual = (config.data_name, config.groups) if same else ("", "")
        dataset = OpenDatasets().open(replace(config, data=data, data_name=name, groups=groups or usual))
    except BadInput as error:
        if not path.exists():
            raise
        try:
            plain = plain_images(path, like, channels=channels, axes=axes)
        except BadInput as other:
            if path.is_file() or holds_images(path):
                raise
            raise BadInput(f"{other} As a data set: {error}") from other
        return plain, list(plain.cases)
    if any(getattr(dataset, name) != getattr(like, name) for name in ("spatial_dims", "classes", "activation")):
        raise BadInput(
            f"the run was trained on {like.spatial_dims}D {like.name} with classes {', '.join(like.classes)}, and "
            f"{data} is {dataset.spatial_dims}D {dataset.name} with {', '.join(dataset.classes)}. To predict its "
            "images anyway, give the folder that holds nothing but them."
        )
    if subset in ("all", "unlabelled"):
        wanted = [case for case in dataset.cases if subset == "all" or not case.target]
        if not wanted:
            raise BadInput(f"every case of {data} has a target. Use `subset=all`.")
        return dataset, wanted
    names = set(getattr(Split.from_json(_text(run / "split.json")), subset))
    chosen = [case for case in dataset.cases if case.name in names] if full_path(data) == config.data else []
    chosen = chosen or [case for case in dataset.cases if case.subset == subset]
    if not chosen:
        raise BadInput(f"{data} has no cases of the subset {subset!r}. Use `subset=all`.")
    return dataset, chosen


def _text(path: Path) -> str:
    if not path.exists():
        raise BadInput(f"{path.parent} is no trained run: it has no {path.name}.")
    return path.read_text()
