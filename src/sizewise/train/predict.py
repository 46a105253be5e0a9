"""Label maps from a trained run, for a data set or a folder of images, in the geometry of each image."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sizewise.checks import check_word
from sizewise.data.case_groups import count_groups
from sizewise.data.dataset import Case, Dataset
from sizewise.data.file_names import is_picture, is_volume
from sizewise.data.split import Split
from sizewise.errors import BadInput
from sizewise.files import save_array
from sizewise.json_files import check_kinds, read_json
from sizewise.metrics.cases_csv import ARGMAX, RunColumns, score_rows, write_cases
from sizewise.metrics.label_map_stream import LabelMaps, score_label_maps
from sizewise.outside_names import case_file, check_name
from sizewise.progress import track
from sizewise.train.calibration import read_calibration
from sizewise.train.datasets import OpenDatasets, full_path
from sizewise.train.decided_labels import background_of
from sizewise.train.ensemble import Member, check_members, common_cases, load_predictor
from sizewise.train.failures import explained_prediction
from sizewise.train.label_choice import check_decision, make_labels
from sizewise.train.plain_images import holds_images, plain_images
from sizewise.train.preparation import Preparation
from sizewise.train.resolve import ResolvedRun
from sizewise.train.run_folder import read_config
from sizewise.train.run_scores import run_columns
from sizewise.train.scoring import predict_cases
from sizewise.train.task import Task, make_criterion, make_task
from sizewise.wording import counted, number_word

PROBLEM = {  # what problem.json holds
    "name": str,
    "classes": list,
    "spatial_dims": int,
    "modality": list,
    "activation": str,
    "ignore_index": (int, type(None)),
    "notes": list,
    "axes": str,
    "background": bool,
}
SUBSETS = ("test", "validation", "train", "unlabelled", "all")


def predict_folder(
    runs: Path | Sequence[Path],
    data: str,
    *,
    out: Path,
    subset: str = "test",
    score: bool = False,
    decide: str = ARGMAX,
    temperature: float | None = None,
    flips: bool = False,
    overlap: float | None = None,
    keep_largest: bool = False,
    save_probabilities: bool = False,
    groups: str = "",
    device: str = "auto",
    log: Callable[[str], None] = print,
) -> list[Path]:
    """Write a label map for each case; returns the files.

    Args:
        runs: a run folder with best.pt; of several, as seeds or folds, the mean of the probabilities is decided.
        data: a data set, a folder of images without masks, or one image.
        out: where the label maps go; existing ones of the same cases are replaced.
        subset: of a data set: "test", "validation", "train" as the run split it (or the data set's own);
            "unlabelled", the cases without a target, such as those of a challenge's server; or "all".
        score: also write ``cases.csv``, with the scores of the cases that have a target.
        decide: "argmax", "dice", "iou" or "size": how labels are decided; see :func:`sizewise.decide`.
        temperature: what logits are divided by before a decision other than argmax. None: what fits the run's
            validation cases, which are predicted for it the first time; decision.json in the run folder keeps it.
        flips: predict mirrored images too, along the axes that training mirrored, and take the mean.
        overlap: of neighbouring windows, as a share, where training saw patches; None is 0.5.
        keep_largest: keep only the largest component of the classes where that raises the mean DSC of the validation
            cases; see ``sizewise.train.keep_largest``.
        save_probabilities: also write ``CASE.npy`` for each case: (K, *S) float16, the axes as in its label map,
            without the temperature. ``sizewise decide`` reads them back.
        groups: of a data set: which cases belong together, as for training; they are counted, and a pattern that does
            not fit is refused. The run's own where it is the data that was trained on.
        device: "auto", "cpu" or "cuda".
        log: takes lines for the screen.
    """
    check_decision(decide, temperature)
    members = read_members([runs] if isinstance(runs, Path) else runs)
    config = members[0].config
    dataset, cases = _cases(members, data, subset, groups)
    if out.exists() and not out.is_dir():
        raise BadInput(f"`out` {out} is a file; name a folder.")
    labelled = {case.name for case in cases if case.target} if score else set()
    if score and not labelled:
        raise BadInput(f"`score`: none of the cases of {data} has a true label map. Leave `score` out.")
    if score and (out / "config.json").exists():
        raise BadInput(f"`out` {out} is a run folder, whose cases.csv holds the run's own scores. Name another folder.")
    task = make_task(config, dataset, Split((), (), ()))
    network, fabric = load_predictor(members, task, device=device, flips=flips, overlap=overlap)
    _refuse_data_folder(out, cases)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"`out` {out} cannot be made: {error.strerror or error}. Name another folder.") from error
    maker = make_labels(
        members,
        task,
        network,
        fabric=fabric,
        decide=decide,
        temperature=temperature,
        keep_largest={"flips": flips, "overlap": overlap} if keep_largest else None,
        log=log,
    )
    files: list[Path] = []

    def written() -> Iterator[LabelMaps]:
        """Each prediction goes to its file; those with a target go on to be scored."""
        predicted = predict_cases(task, network, cases)
        for case, image, logits in track(predicted, what="Predicting", total=len(cases)):
            shape = image.pixels.shape[1:]
            labels = maker.label_map(logits, shape, decide)
            if save_probabilities:
                save_array(
                    case_file(out, case.name, ".npy"),
                    dataset.reader.as_stored(maker.probabilities(logits, shape), case),
                )
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
            by_case = {named.case: found for named, found in scores.items()}
            write_cases(out / "cases.csv", score_rows(by_case, of=_columns(members, task, decide)))
    how = "" if decide == ARGMAX else f", decided for {decide} at temperature {maker.temperature:.3g}"
    how = (f", the mean of {len(members)} runs" if len(members) > 1 else "") + (", with flips" if flips else "") + how
    beside = " with probabilities (CASE.npy, classes first)" if save_probabilities else ""
    known = {case.name: case.group for case in cases if case.group}
    of = f" ({counted(count_groups(known, known), 'group')})" if known else ""
    log(f"{counted(len(files), 'label map')}{of} of {', '.join(task.foreground)}{how}{beside} → {out}")
    for sentence in _left_by_others(out, files, scored=score):
        log(f"note: {sentence}")
    return files


def _left_by_others(out: Path, files: Sequence[Path], *, scored: bool) -> list[str]:
    """Label maps and scores in the folder that would be taken for those of this call."""
    sentences = []
    folder = files[0].parent if files else out  # where regions overlap, that of the first class
    there = {file.name for file in folder.iterdir() if is_picture(file) or is_volume(file)}
    if more := len(there - {file.name for file in files}):
        sentences.append(f"{out} also holds {counted(more, 'label map')} of other cases, from before.")
    if not scored and (out / "cases.csv").exists():
        sentences.append(f"{out / 'cases.csv'} is from before, not of these label maps.")
    return sentences


def _refuse_data_folder(out: Path, cases: Sequence[Case]) -> None:
    """Label maps are called as their cases are: among the images or the true label maps they would replace them."""
    given = [file for case in cases for file in (*case.images, *case.target) if file is not None]
    for folder in {file.parent for file in given}:
        if folder.resolve() == out.resolve():
            raise BadInput(f"`out` {out} holds the data's own files, which would be replaced. Name another folder.")


def _columns(members: Sequence[Member], task: Task, decide: str) -> RunColumns:
    """How the rows are labelled; those of several runs name all of them."""
    several = [
        run_columns(ResolvedRun(member.config, task, make_criterion(member.config, task)), decide) for member in members
    ]
    if len(several) == 1:
        return several[0]
    joined = {name: "+".join(dict.fromkeys(vars(one)[name] for one in several)) for name in vars(several[0])}
    return replace(RunColumns(**joined), data=several[0].data, decision=decide)


def scored_names(run: Path) -> dict[int, str]:
    """The classes that a run's scores are of, by id."""
    return run_task(run).names


def deciding_options(run: Path, *, kept: bool = True) -> dict[str, str]:
    """What ``sizewise decide`` has to know of a run's saved probabilities, where it is not the default.

    ``kept`` says whether they are those that the temperature of the run is for.
    """
    task, known = run_task(run), read_calibration(run) if kept else None
    options = {"activation": "sigmoid"} if task.sigmoid else {}
    if background_of(task) is None:
        options["background"] = "none"
    return options if known is None else options | {"temperature": f"{known.temperature:.4g}"}


def scoring_options(run: Path) -> dict[str, str]:
    """What ``sizewise evaluate`` has to know to score label maps as the run's own were, where it is not the default."""
    tolerance, task = read_config(run).nsd_tolerance, run_task(run)
    ignored = task.dataset.ignore_index  # which the data may have named, as nnU-Net's dataset.json does
    options = {} if ignored is None else {"ignore-index": str(ignored)}
    if not task.multilabel and task.first_class == 0:
        options["background"] = "none"
    return options if tolerance == 1 else options | {"nsd-tolerance": number_word(tolerance)}


def run_task(run: Path) -> Task:
    """What a run's network gives, without any case."""
    return make_task(read_config(run), problem_dataset(read_problem(run)), Split((), (), ()))


def problem_dataset(problem: dict[str, Any]) -> Dataset:
    """A data set like the one that was trained on, without any case."""
    values = {name: value for name, value in problem.items() if name != "axes"}
    return Dataset(cases=(), reader=None, **values)  # type: ignore[arg-type]


def read_problem(run: Path) -> dict[str, Any]:
    """What :func:`~sizewise.train.task.problem_json` wrote."""
    path = _known(run / "problem.json")
    values = read_json(path)
    values.setdefault("background", read_config(run).background != "none")  # earlier versions did not say
    values.pop("length_unit", None)  # of the images that were trained on; others bring their own
    check_kinds(values, PROBLEM, path)
    if not values["classes"] or not all(isinstance(one, str) for one in (*values["classes"], *values["modality"])):
        raise BadInput(f"'{path}': classes and modality must be words. The file is damaged, or was edited.")
    if values["spatial_dims"] not in (2, 3) or values["activation"] not in ("softmax", "sigmoid"):
        raise BadInput(f"'{path}' holds no problem that networks are trained for. It is damaged, or was edited.")
    for name in values["classes"]:
        check_name(name, what=f"'{path}': the class")
    return values | {name: tuple(values[name]) for name in ("classes", "modality", "notes")}


def read_members(runs: Sequence[Path]) -> list[Member]:
    """The run folders, of which several must fit together."""
    members = []
    for run in runs:
        config, problem = read_config(run), read_problem(run)
        preparation = Preparation.read(_known(run / "preparation.json"))
        members.append(Member(run, config, preparation, problem, Split.read(_known(run / "split.json"))))
    if not members:
        raise BadInput("`runs` must name at least one run folder.")
    check_members(members)
    return members


def _cases(members: Sequence[Member], data: str, subset: str, groups: str) -> tuple[Dataset, list[Case]]:
    try:
        check_word("predict", "`subset`", subset, SUBSETS)
    except ValueError as error:
        raise BadInput(str(error)) from error
    config, channels = members[0].config, len(members[0].preparation.mean)
    axes, like = members[0].problem["axes"], problem_dataset(members[0].problem)
    path = Path(full_path(data))
    same = full_path(data) == config.data
    try:
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
    names = common_cases(members, subset) if same else set()
    if same and not names and any(getattr(member.split, subset) for member in members):
        raise BadInput(
            f"no case is in the subset {subset!r} of every run, as with the folds of a cross-validation: each would be "
            "predicted by networks that were trained on it. Predict other data, or say `subset=all`."
        )
    chosen = [case for case in dataset.cases if case.name in names]
    chosen = chosen or [case for case in dataset.cases if case.subset == subset]
    if not chosen:
        raise BadInput(f"{data} has no cases of the subset {subset!r}. Use `subset=all`.")
    return dataset, chosen


def _known(path: Path) -> Path:
    if not path.exists():
        raise BadInput(f"{path.parent} is no trained run: it has no {path.name}.")
    return path
