"""The study folder: study.json, runs/, results.csv. What each run's state is can be read from its files alone.

| file | holds |
|---|---|
| study.json | the study's settings, and the commands that reproduce it |
| runs/NAME/ | a run folder each; see ``sizewise.train.run_folder`` |
| runs/NAME/failed.json | why a run could not be finished; the next try removes it |
| groups.json | the group of each case (a patient, a video), where known |
| results.csv | the cases of all finished runs, in the order of the study |
| report.html, … | made from the above |
| study.lock | held while one of these is written, so that two processes can add to a study at once |
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sizewise.errors import BadInput
from sizewise.files import PARTIAL, write_whole
from sizewise.json_files import check_kinds, read_json
from sizewise.metrics.cases_csv import ARGMAX, join_cases
from sizewise.study.grid import PlannedRun
from sizewise.study.study_config import LISTS, StudyConfig
from sizewise.train.history import read_history
from sizewise.train.run_folder import is_finished

LOCK = "study.lock"
LOCKED = ("study.json", "groups.json", "results.csv", "checksums.json")  # written while it is held


@dataclass(frozen=True)
class RunStatus:
    """Where a run stands.

    Attributes:
        word: what it is doing.
        epoch: the last one that ended.
        seconds: that its epochs took so far.
        error: why it failed.
    """

    word: Literal["waiting", "begun", "finished", "failed"]
    epoch: int = 0
    seconds: float = 0.0
    error: str = ""


def open_study(folder: Path, config: StudyConfig, *, command: str, threads: int = 0) -> StudyConfig:
    """Make the folder, or add to the study that it holds; returns the study as it is from now on.

    Args:
        folder: of the study.
        config: the study, or what is added to it.
        command: the command line, for the report.
        threads: that a new study's runs get; one that was begun keeps its own, as sums on a CPU depend on it.
    """
    path = folder / "study.json"
    new = not path.exists() and not (folder / LOCK).exists()
    if new and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"`folder` {folder} exists and holds no study. Name a new folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"`folder` {folder} cannot be made: {error.strerror or error}. Name another folder.") from error
    with _alone(folder):
        (folder / "runs").mkdir(exist_ok=True)
        commands, before = [command], None
        if path.exists():
            config = read_study(folder).joined(config)
            before = read_study_content(path)
            commands = [*before.get("commands", []), command]
        content = asdict(config) | {"name": folder.resolve().name, "commands": list(dict.fromkeys(commands))}
        content["reference"] = config.reference or config.losses[0]
        content["threads"] = threads if before is None else before.get("threads", threads)
        write_whole(path, json.dumps(content, indent=1))
    return config


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time; the lock dies with its process."""
    import fcntl

    with open(folder / LOCK, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for name in LOCKED:  # left by a process that was killed while it wrote: nobody else does now
            for one in folder.glob(f"{PARTIAL}*-{name}"):
                one.unlink(missing_ok=True)
        yield


def read_study(folder: Path) -> StudyConfig:
    """The study in a folder."""
    path = folder / "study.json"
    if not path.exists():
        raise BadInput(f"'{folder}' is no study: it has no study.json. Comparing losses makes one.")
    content = read_study_content(path)
    return StudyConfig.from_values(content)


def read_study_content(path: Path) -> dict[str, Any]:
    """What a study.json holds, with each part of the kind that it has to be."""
    content = read_json(path, hint="The runs are intact: repeat the commands of the study in a new folder, or copy it.")
    kinds = dict.fromkeys(LISTS, list) | {"reference": str, "settings": list, "threads": int, "commands": list}
    check_kinds(content, {name: kind for name, kind in kinds.items() if name in content}, path)
    check_kinds(content, {"data": list, "losses": list}, path)
    words = [one for name in ("data", "losses", "models", "decisions", "commands") for one in content.get(name, ())]
    numbers = [one for name in ("weights", "temperatures", "seeds") for one in content.get(name, ())]
    pairs = content.get("settings", [])
    if (
        not all(isinstance(one, str) for one in words)
        or not all(type(one) in (int, float) for one in numbers)
        or not all(type(one) is int for one in content.get("seeds", ()))
        or not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)
    ):
        raise BadInput(
            f"'{path}' holds no study: its lists are not of words and numbers. It is damaged, or was edited."
        )
    return content


def study_threads(folder: Path) -> int:
    """CPU threads of each run, as the study began; 0: as torch has them."""
    return read_study_content(folder / "study.json").get("threads", 0)


def run_status(folder: Path, decisions: Sequence[str] = (ARGMAX,)) -> RunStatus:
    """What a run's files say of it; it is finished when it has the scores of each of these decisions."""
    if is_finished(folder, decisions):
        return _with_history(folder, "finished")
    if (folder / "failed.json").exists():
        return RunStatus("failed", error=str(read_failure(folder).get("error", "for a reason that cannot be read")))
    return _with_history(folder, "begun") if (folder / "config.json").exists() else RunStatus("waiting")


def read_failure(folder: Path) -> dict[str, Any]:
    """What failed.json says; nothing where it is damaged, or the next try has just removed it."""
    try:
        return read_json(folder / "failed.json")
    except BadInput:
        return {}


def _with_history(folder: Path, word: Literal["begun", "finished"]) -> RunStatus:
    path = folder / "history.csv"
    try:
        rows = read_history(path) if path.exists() else []
    except BadInput:  # how far it has come is not known; its results are in other files
        rows = []
    return RunStatus(
        word, epoch=int(rows[-1]["epoch"]) if rows else 0, seconds=sum(row.get("seconds", 0.0) for row in rows)
    )


def write_groups(folder: Path, runs: list[PlannedRun]) -> None:
    """The group of each case, where a data set knows it: statistics resample patients and videos, not frames."""
    by_data = {run.dataset.name: run.dataset for run in runs}
    groups = {
        name: {case.name: case.group for case in dataset.cases if case.group} for name, dataset in by_data.items()
    }
    with _alone(folder):
        write_whole(folder / "groups.json", json.dumps({name: known for name, known in groups.items() if known}))


def write_results(folder: Path, runs: list[PlannedRun]) -> Path:
    """Join the tables of the finished runs, in the order of the study."""
    path = folder / "results.csv"
    tables = [folder / "runs" / run.name / "cases.csv" for run in runs]
    with _alone(folder):
        join_cases(path, [table for table in tables if table.exists()])
    return path
