"""A study as it lies on disk: its settings and its run folders. Scores are in ``scores``."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sizewise.errors import BadInput


@dataclass(frozen=True)
class Run:
    """One run folder.

    Attributes:
        name: of the folder.
        run: what its rows in results.csv are called.
        arena: data and model, as the report calls them; see ``scores.Labels``.
        entry: the loss, with λ where the study has several.
        seed: as text.
        config: what config.json holds.
        versions: what versions.json holds.
        classes: names by class id.
        history: one dictionary per epoch.
        cost: what cost.json holds; empty where there is none.
        overlays: the file of each case.
        error: why it failed; empty where it did not.
        finished: whether it has scores.
    """

    name: str
    run: str
    arena: str
    entry: str
    seed: str
    config: Mapping[str, Any]
    versions: Mapping[str, Any]
    classes: Mapping[int, str]
    history: Sequence[Mapping[str, float]] = field(repr=False)
    cost: Mapping[str, float]
    overlays: Mapping[str, Path] = field(repr=False)
    error: str
    finished: bool


def read_study_json(study: Path) -> dict[str, Any]:
    """The settings of a study; those that are missing are empty."""
    if not study.is_dir():
        raise BadInput(f"report: '{study}' is not a folder. Name the folder of a study, as sizewise compare made it.")
    path = study / "study.json"
    if not path.is_file():
        raise BadInput(
            f"report: '{study}' holds no study.json. Name the folder of a study, or give label maps: "
            "`predictions` and `targets`."
        )
    content = _json(path)
    if not isinstance(content, dict):
        raise BadInput(f"report: '{path}' must hold an object with the study's settings.")
    return content


def read_groups(study: Path) -> dict[str, dict[str, str]]:
    """By data set, the patient or video of each case, from groups.json; empty where there is none."""
    content = _json(study / "groups.json", missing={})
    if not isinstance(content, dict) or not all(isinstance(one, dict) for one in content.values()):
        raise BadInput(
            f"report: '{study / 'groups.json'}' must hold an object of data sets, each with cases and groups."
        )
    return {data: {str(case): str(group) for case, group in of.items()} for data, of in content.items()}


def run_folders(study: Path) -> Iterator[Path]:
    """The run folders, by name."""
    folder = study / "runs"
    yield from sorted(one for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else ()


def read_run(folder: Path, *, labels: Mapping[str, tuple[str, str, str]]) -> Run:
    """Read one run folder; files that a run may lack are empty.

    Args:
        folder: the run folder.
        labels: (arena, entry, seed) by the name that results.csv has for the run.
    """
    config = _json(folder / "config.json", missing={})
    problem = _json(folder / "problem.json", missing={})
    failure = _json(folder / "failed.json", missing={})
    name = _name_in_table(folder / "cases.csv")
    known = (str(problem.get("name", "")), str(config.get("loss", folder.name)), str(config.get("seed", "")))
    arena, entry, seed = labels.get(name, known)
    return Run(
        name=folder.name,
        run=name,
        arena=arena,
        entry=entry,
        seed=seed,
        config=config,
        versions=_json(folder / "versions.json", missing={}),
        classes=class_names(problem),
        history=_history(folder / "history.csv"),
        cost=_json(folder / "cost.json", missing={}),
        overlays={unquote(path.stem): path for path in sorted((folder / "overlays").glob("*.npz"))},
        error=str(failure.get("error", "")) if not (folder / "cases.csv").exists() else "",
        finished=(folder / "cases.csv").exists(),
    )


def _name_in_table(path: Path) -> str:
    """What the run's rows are called, from the first of them; empty where it has none."""
    if not path.is_file():
        return ""
    with path.open(newline="", encoding="utf-8") as file:
        return next(csv.DictReader(file), {}).get("run") or ""


def class_names(problem: Mapping[str, Any]) -> dict[int, str]:
    """Names by class id: a softmax counts the background, sigmoid channels start from 1.

    >>> class_names({"classes": ["background", "polyp"], "activation": "softmax"})
    {0: 'background', 1: 'polyp'}
    >>> class_names({"classes": ["lesion"], "activation": "sigmoid"})
    {1: 'lesion'}
    """
    first = 1 if problem.get("activation") == "sigmoid" else 0
    return {number: str(name) for number, name in enumerate(problem.get("classes", ()), start=first)}


def _history(path: Path) -> list[dict[str, float]]:
    """Without its empty cells; a line that a kill cut short ends the history."""
    if not path.is_file():
        return []
    rows = []
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            try:
                rows.append({name: float(value) for name, value in row.items() if name and value not in ("", None)})
            except ValueError:
                break
    return [row for row in rows if "epoch" in row]


def _json(path: Path, *, missing: Any = None) -> Any:
    if missing is not None and not path.is_file():
        return missing
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadInput(f"report: '{path}' cannot be read: {error}.") from error
