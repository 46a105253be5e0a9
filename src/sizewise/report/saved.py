"""A study as it lies on disk: its settings and its run folders. Scores are in ``scores``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sizewise.errors import BadInput
from sizewise.json_files import check_kinds, read_json
from sizewise.metrics.arms import loss_cell
from sizewise.metrics.cases_csv import RUN_COLUMNS, RunColumns, table_lines
from sizewise.metrics.registry import LengthUnit
from sizewise.study.study_config import LISTS
from sizewise.train.history import read_history


@dataclass(frozen=True)
class Run:
    """One run folder.

    Attributes:
        name: of the folder.
        setting: data set and network, as the report calls them; see ``scores.Scores``.
        arm: the name of what was run, likewise.
        seed: as text.
        config: what config.json holds.
        versions: what versions.json holds.
        classes: names by class id.
        length_unit: what its distances are in: mm, or pixels.
        history: one dictionary per epoch.
        cost: what cost.json holds; empty where there is none.
        calibration: what decision.json holds; empty where no decision was asked for.
        overlays: the file of each case.
        error: why it failed, or could not be decided anew; empty where it did not.
        finished: whether it has scores.
    """

    name: str
    setting: str
    arm: str
    seed: str
    config: Mapping[str, Any]
    versions: Mapping[str, Any]
    classes: Mapping[int, str]
    length_unit: LengthUnit
    history: Sequence[Mapping[str, float]] = field(repr=False)
    cost: Mapping[str, float]
    calibration: Mapping[str, float]
    overlays: Mapping[str, Path] = field(repr=False)
    error: str
    finished: bool


def read_study_json(study: Path) -> dict[str, Any]:
    """The settings of a study; those that are missing are empty."""
    if not study.is_dir():
        raise BadInput(f"report: '{study}' is not a folder. Name the folder of a study.")
    path = study / "study.json"
    if not path.is_file():
        raise BadInput(
            f"report: '{study}' holds no study.json. Name the folder of a study, or give label maps: `predictions` and "
            "`targets`."
        )
    content = read_json(path)
    check_kinds(content, {name: list for name in (*LISTS, "settings", "commands") if name in content}, path)
    return content


def read_groups(study: Path) -> dict[str, dict[str, str]]:
    """By data set, the group of each case (a patient, a video), from groups.json; empty where there is none."""
    content = _json(study / "groups.json", missing={})
    if not all(isinstance(one, dict) for one in content.values()):
        raise BadInput(
            f"report: '{study / 'groups.json'}' must hold an object of data sets, each with cases and groups."
        )
    return {data: {str(case): str(group) for case, group in of.items()} for data, of in content.items()}


def run_folders(study: Path) -> Iterator[Path]:
    """The run folders, by name."""
    folder = study / "runs"
    yield from sorted(one for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else ()


def run_columns(folder: Path) -> RunColumns:
    """What a run's rows are labelled with: from the first of them, or, while it has none, from its settings."""
    table = folder / "cases.csv"
    if table.is_file():
        for _, cells in table_lines(table):
            return RunColumns(*cells[: len(RUN_COLUMNS)])
    config = _json(folder / "config.json", missing={})
    problem = _json(folder / "problem.json", missing={})
    options = dict(config.get("loss_options", ()))
    weight = config.get("weight")
    return RunColumns(
        run=folder.name,
        data=str(problem.get("name", config.get("data", ""))),
        model=str(config.get("model", "")),
        loss=loss_cell(str(config.get("loss", folder.name)), options.get("temperature")),
        weight="" if weight in (None, "") else f"{float(weight):g}",
        seed=str(config.get("seed", "")),
    )


def read_run(folder: Path, *, name: Callable[[RunColumns], tuple[str, str]]) -> Run:
    """Read one run folder; files that a run may lack are empty.

    Args:
        folder: the run folder.
        name: the report's names of setting and arm, for what its rows are labelled with.
    """
    problem = _json(folder / "problem.json", missing={})
    failure = _json(folder / "failed.json", missing={})
    of = run_columns(folder)
    setting, arm = name(of)
    finished = (folder / "cases.csv").exists()
    history = folder / "history.csv"
    return Run(
        name=folder.name,
        setting=setting,
        arm=arm,
        seed=of.seed,
        config=_json(folder / "config.json", missing={}),
        versions=_json(folder / "versions.json", missing={}),
        classes=class_names(problem),
        length_unit=_length_unit(problem),
        history=read_history(history) if history.is_file() else [],
        cost=_json(folder / "cost.json", missing={}),
        calibration=_json(folder / "decision.json", missing={}),
        overlays=pictures_in(folder / "overlays"),
        error=str(failure.get("error", "")),
        finished=finished,
    )


def decided_runs(
    folder: Path, run: Run, *, name: Callable[[RunColumns], tuple[str, str]], decisions: Sequence[str]
) -> Iterator[Run]:
    """The same run once for each of the decisions that has pictures of its own, called as the report calls that arm."""
    of = run_columns(folder)
    for decision in decisions:
        if pictures := pictures_in(folder / "overlays" / decision):
            yield replace(run, arm=name(replace(of, decision=decision))[1], overlays=pictures)


def pictures_in(folder: Path) -> dict[str, Path]:
    """The saved picture of each case in a folder."""
    return {unquote(path.stem): path for path in sorted(folder.glob("*.npz"))}


def class_names(problem: Mapping[str, Any]) -> dict[int, str]:
    """Names by class id: a softmax counts the background, sigmoid channels start from 1.

    >>> class_names({"classes": ["background", "polyp"], "activation": "softmax"})
    {0: 'background', 1: 'polyp'}
    >>> class_names({"classes": ["lesion"], "activation": "sigmoid"})
    {1: 'lesion'}
    """
    first = 1 if problem.get("activation") == "sigmoid" else 0
    return {number: str(name) for number, name in enumerate(problem.get("classes", ()), start=first)}


def _length_unit(problem: Mapping[str, Any]) -> LengthUnit:
    """As the run says; those of earlier versions do not, and then pictures are taken to have no spacing."""
    usual = "pixels" if problem.get("spatial_dims") == 2 else "mm"
    return "pixels" if problem.get("length_unit", usual) == "pixels" else "mm"


def _json(path: Path, *, missing: Any = None) -> Any:
    if missing is not None and not path.exists():
        return missing
    return read_json(path)
