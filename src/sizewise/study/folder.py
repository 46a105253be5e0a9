"""The study folder: study.json, runs/, results.csv. What each run's state is can be read from its files alone.

| file | holds |
|---|---|
| study.json | the study's settings, and the commands that reproduce it |
| runs/NAME/ | a run folder each; see ``sizewise.train.run_folder`` |
| runs/NAME/failed.json | why a run could not be finished; the next try removes it |
| groups.json | the patient or video of each case, where known |
| results.csv | the cases of all finished runs, in the order of the study |
| report.html, … | made from the above |
| study.lock | held while study.json is changed, so that two processes can add to a study at once |
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.study.config import StudyConfig
from sizewise.study.grid import PlannedRun, loss_settings, plan_runs
from sizewise.train.history import read_history
from sizewise.train.run_folder import is_finished

LOCK = "study.lock"


@dataclass(frozen=True)
class RunState:
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


def open_study(folder: Path, config: StudyConfig, *, command: str) -> StudyConfig:
    """Make the folder, or add to the study that it holds; returns the study as it is from now on."""
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
        commands = [command]
        if path.exists():
            config = read_study(folder).joined(config)
            commands = [*json.loads(path.read_text()).get("commands", []), command]
        content = json.loads(config.to_json())
        content |= {"name": folder.resolve().name, "commands": list(dict.fromkeys(commands))}
        content["reference"] = config.reference or config.losses[0]
        write_whole(path, json.dumps(content, indent=1))
    return config


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time; the lock dies with its process."""
    import fcntl

    with open(folder / LOCK, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read_study(folder: Path) -> StudyConfig:
    """The study in a folder."""
    path = folder / "study.json"
    if not path.exists():
        raise BadInput(f"'{folder}' is no study: it has no study.json. Comparing losses makes one.")
    try:
        return StudyConfig.from_json(path.read_text())
    except (json.JSONDecodeError, TypeError) as error:
        raise BadInput(f"'{path}' cannot be read: {error}.") from error


def run_state(folder: Path) -> RunState:
    """What a run's files say of it."""
    if is_finished(folder):
        return _with_history(folder, "finished")
    with contextlib.suppress(FileNotFoundError):  # the next try removes it, perhaps just now
        return RunState("failed", error=json.loads((folder / "failed.json").read_text())["error"])
    return _with_history(folder, "begun") if (folder / "config.json").exists() else RunState("waiting")


def _with_history(folder: Path, word: Literal["begun", "finished"]) -> RunState:
    path = folder / "history.csv"
    rows = read_history(path) if path.exists() else []
    return RunState(word, epoch=int(rows[-1]["epoch"]) if rows else 0, seconds=sum(row["seconds"] for row in rows))


def runs_of(folder: Path, runs: list[PlannedRun]) -> list[PlannedRun]:
    """The runs of the study as it is now: another process may have added to it since ``runs`` were planned."""
    if not (folder / "study.json").exists():
        return runs
    study = read_study(folder)
    count = len(study.data) * len(study.models or (None,)) * len(study.seeds) * len(loss_settings(study))
    return runs if count == len(runs) else plan_runs(study)


def write_groups(folder: Path, runs: list[PlannedRun]) -> None:
    """The patient or video of each case, where a data set knows it: statistics resample these, not single frames."""
    by_data = {run.dataset.name: run.dataset for run in runs_of(folder, runs)}
    groups = {
        name: {case.name: case.group for case in dataset.cases if case.group} for name, dataset in by_data.items()
    }
    write_whole(folder / "groups.json", json.dumps({name: known for name, known in groups.items() if known}))


def write_results(folder: Path, runs: list[PlannedRun]) -> Path:
    """Join the tables of the finished runs, in the order of the study."""
    path = folder / "results.csv"
    lines: list[str] = []
    for run in runs_of(folder, runs):
        cases = folder / "runs" / run.name / "cases.csv"
        if cases.exists():
            header, *rows = cases.read_text(encoding="utf-8").splitlines(keepends=True)
            lines += rows if lines else [header, *rows]
    if not lines:
        raise BadInput(
            f"no run of {folder} was finished, so there are no results. The errors are in runs/*/failed.json."
        )
    write_whole(path, "".join(lines))
    return path
