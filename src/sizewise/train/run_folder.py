"""The run folder: what is written where, and that nothing in it is ever half written.

| file | holds |
|---|---|
| config.json | the resolved settings; its name in tables is their hash |
| versions.json | the hash of config.json; sizewise, torch, device, and how the run was carried out |
| split.json | the cases of train, validation and test |
| problem.json | classes, dimensions, modality, notes: what predicting needs to know of the data |
| preparation.json | how images are resized and scaled |
| history.csv | one row per epoch |
| best.pt, last.pt | weights chosen on validation; state to resume from |
| checksums.json | of cases.csv and history.csv, once the run is complete: cut short, they would look like any other |
| README.md | the model card: data, split, scores with intervals, sizes, decision, limits |
| cases.csv | scores of the test cases; written last, so its presence means that the run is complete |
| components.json | of which classes only the largest component is kept, once that was asked for |
| decision.json | the temperatures of decisions other than argmax, from the validation cases; once one was asked for |
| cost.json | milliseconds a step, seconds of training, peak memory |
| overlays/ | small pictures of test cases, for the report; in folders those of other decisions than argmax |
| trackers.json | the names under which W&B and MLflow know the run, where it is shown to them |
| curves.svg, curves.png, tensorboard/ | the same history to look at |
"""

import contextlib
import hashlib
import json
import platform
import shutil
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

import sizewise
from sizewise.checksums import is_intact
from sizewise.errors import BadInput
from sizewise.files import remove_unfinished, write_whole
from sizewise.json_files import check_kinds, read_json
from sizewise.metrics.cases_csv import ARGMAX, decisions_in
from sizewise.outside_names import plain_letters
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.setting_words import check_saved


def open_run(folder: Path, config: RunConfig, *, resume: bool) -> bool:
    """Make the folder, or make sure that it holds this very run. Returns whether it is new."""
    settings = folder / "config.json"
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"`folder` {folder} is a file; name a folder.")
    if not settings.exists():
        if folder.exists() and any(_is_foreign(one.name) for one in folder.iterdir()):
            raise BadInput(f"`folder` {folder} holds other files and no run. Name a new folder.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(settings, config.to_json())
        except OSError as error:
            reason = error.strerror or error
            raise BadInput(f"`folder` {folder} cannot be made: {reason}. Name another folder.") from error
        return True
    found = read_config(folder)
    if found != config:
        differences = "; ".join(found.differences(config))
        raise BadInput(f"{folder} holds a run with other settings ({differences}). Use another `folder`.")
    if not resume:
        state, verb = ("finished", "Show") if is_finished(folder) else ("unfinished", "Continue")
        raise BadInput(
            f"{folder} holds this run already, {state}. {verb} it with `resume=True`, or use another `folder`."
        )
    return False


def _is_foreign(name: str) -> bool:
    """Whether a file in a folder without settings is not one that a try which never began leaves there."""
    return not name.startswith(".") and name not in ("run.lock", "failed.json")


def discard_unstarted(folder: Path) -> None:
    """Remove a run that did not come to the end of an epoch, so that the corrected command may use the folder."""
    if (folder / "history.csv").exists():
        return
    for name in (
        "versions.json",
        "split.json",
        "preparation.json",
        "problem.json",
        "trackers.json",
        "run.lock",
        "config.json",
    ):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "tensorboard", ignore_errors=True)
    with contextlib.suppress(OSError):  # something else is in it
        folder.rmdir()


def read_config(folder: Path) -> RunConfig:
    """The settings of the run in a folder."""
    settings = folder / "config.json"
    if not settings.exists():
        raise BadInput(f"{folder} is no run folder: it has no config.json. Training makes one.")
    content = read_json(settings)
    check_saved(content, settings)
    try:
        return RunConfig.from_values(content)
    except BadInput as error:
        raise BadInput(f"{settings}: {error}") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadInput(f"{settings} cannot be read: {error}.") from error


def settings_hash(folder: Path) -> str:
    """The hash of config.json as it stands: a later version of sizewise may know more settings than were written."""
    return hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()[:8]


DATA_LETTERS, LOSS_LETTERS = 90, 60  # a formula may be long, and a folder's name may not


def run_name(config: RunConfig, data: str) -> str:
    """DATA-MODEL-LOSS-SEED-HASH, in letters that every file system takes: what a run's folder is called."""
    words = [data[:DATA_LETTERS], config.model[:LOSS_LETTERS], config.loss[:LOSS_LETTERS]]
    words += [f"s{config.seed}", config.hash]
    return plain_letters("-".join(words))


def threads_begun_with(folder: Path) -> int:
    """The number of CPU threads that a run began with; 0 where it has not begun. Resumed, it gives the same bits."""
    path = folder / "versions.json"
    if not path.exists():
        return 0
    versions = {"threads": 0} | read_json(path, hint="Copy it again; the run goes on with the threads that it names.")
    check_kinds(versions, {"threads": int}, path)
    return versions["threads"]


def is_finished(folder: Path, decisions: Sequence[str] = (ARGMAX,)) -> bool:
    """Whether the run was trained and scored to the end, under each of these decisions."""
    if not (folder / "cases.csv").exists() or not is_intact(folder / "cases.csv"):
        return False  # a table that was damaged is made again from the weights
    return all(one == ARGMAX for one in decisions) or set(decisions) <= {*scored_decisions(folder)}


def scored_decisions(folder: Path) -> tuple[str, ...]:
    """The decisions that cases.csv has scores of; none where there is no such file."""
    path = folder / "cases.csv"
    try:
        found = path.stat()
    except FileNotFoundError:
        return ()
    if not is_intact(path):
        return ()
    return _decisions_of(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4096)
def _decisions_of(path: Path, written_ns: int, size: int) -> tuple[str, ...]:
    """Read once for each version of the file: a study's screen asks every second."""
    return decisions_in(path)


class RunBusy(BadInput):
    """Another process is working in the run folder."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one process works in a run folder. The lock dies with its process."""
    import fcntl

    try:
        lock = open(folder / "run.lock", "w")  # noqa: SIM115 closed below
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be written: {error.strerror or error}. Name another `folder`, or change that."
        ) from error
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RunBusy(f"{folder}: another process is working on this run. Wait for it, or stop it.") from error
        for one in (folder, folder / "overlays", *(folder / "overlays").glob("*/")):
            remove_unfinished(one)  # as large as a checkpoint, left by a process that was killed while it wrote
        yield


def write_versions(folder: Path, runtime: Runtime, device: torch.device) -> None:
    """Record what the run was made with."""
    record: dict[str, Any] = {
        "config_hash": settings_hash(folder),
        "sizewise": sizewise.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        **{name: _installed(name) for name in ("lightning-fabric", "monai", "segmentation-models-pytorch", "numpy")},
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "cpu",
        "cuda": torch.version.cuda,
        "threads": torch.get_num_threads(),
        "runtime": vars(runtime),
    }
    write_whole(folder / "versions.json", json.dumps(record, indent=1))


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
