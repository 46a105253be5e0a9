"""What a run tells a tracker, and how trackers are found.

A logger is any class without arguments and with three methods, :class:`RunLogger`. Those of this folder are found by
their names, a file ``NAME_logger.py`` with a class ``Logger``; one of your own is ``my_module:MyLogger``. The whole of
one that prints::

    class MyLogger:
        def begin(self, run):
            print("begin", run.name, run.settings["loss"], list(run.classes.values()))

        def epoch(self, row):
            print("epoch", row["epoch"], row["train_loss"], row.get("val_size_error_1"))

        def end(self, scores, files):
            print("end", scores, [file.name for file in files])

Only one process of a run logs. What is logged is in the run folder too, so a tracker that fails while a run trains
loses its own record and nothing else.
"""

import json
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sizewise.errors import BadInput, RunFailed
from sizewise.files import write_whole
from sizewise.json_files import read_json
from sizewise.metrics.cases_csv import read_cases
from sizewise.metrics.class_summary import summarise
from sizewise.train.history import Row
from sizewise.user_code import import_named, is_user_code

_ENDING = "_logger"
KEPT = "trackers.json"  # the names under which trackers know a run, so that a resumed one goes on there


@dataclass(frozen=True)
class LoggedRun:
    """What a logger is told at the beginning.

    Attributes:
        name: of the run, or of the study whose report is logged.
        folder: where its files are.
        settings: by name, complete.
        classes: the names of the scored classes by id, as they end the names of columns.
    """

    name: str
    folder: Path
    settings: Mapping[str, Any]
    classes: Mapping[int, str]


class RunLogger(Protocol):
    """What is called, in this order."""

    def begin(self, run: LoggedRun) -> None:
        """Once, before the first epoch that is trained now."""
        ...

    def epoch(self, row: Row) -> None:
        """After each epoch, with its line of ``history.csv``: loss, terms, scores and size errors of each class.

        A run that was killed repeats the epochs after its last save, with the same values.
        """
        ...

    def end(self, scores: Mapping[str, float], files: Sequence[Path]) -> None:
        """When the test cases are scored: ``DECISION/METRIC/CLASS`` to mean value, and the files worth keeping."""
        ...


LOGGERS: dict[str, str] = {
    found.name.removesuffix(_ENDING): f"{__package__}.{found.name}:Logger"
    for found in pkgutil.iter_modules([str(Path(__file__).parent)])
    if found.name.endswith(_ENDING)
}


def logger_words(text: str) -> tuple[str, ...]:
    """Loggers by name or by place, from a list with commas; raises BadInput where one is neither.

    >>> logger_words("wandb,my_module:Mine")
    ('wandb', 'my_module:Mine')
    """
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in words:
        if word not in LOGGERS and not is_user_code(word):
            from sizewise.checks import closest

            known = ", ".join(LOGGERS)
            raise BadInput(
                f"`logger` must be one of {known}, or your own as my_module:MyLogger, got {word!r}."
                f"{closest(word, tuple(LOGGERS))}"
            )
    return words


def make_loggers(text: str, log: Callable[[str], None]) -> "Loggers":
    """The loggers that were asked for, as one."""
    made: dict[str, RunLogger] = {}
    for word in logger_words(text):
        try:
            logger = import_named(LOGGERS.get(word, word))()
        except (ValueError, TypeError) as error:
            raise BadInput(f"`logger={word}`: {error}") from error
        except (ImportError, SyntaxError):
            raise  # of the user's own module: where it lies is what he needs
        except Exception as error:
            raise _cannot_begin(word, error) from error
        if missing := [name for name in ("begin", "epoch", "end") if not callable(getattr(logger, name, None))]:
            raise BadInput(f"`logger={word}`: it has no {', '.join(missing)}. A logger has begin, epoch and end.")
        made[word] = logger
    return Loggers(made, log)


def _cannot_begin(word: str, error: Exception) -> RunFailed:
    return RunFailed(f"the logger {word} could not begin: {type(error).__name__}: {error}")


class Loggers:
    """Several loggers as one. A failure at the beginning is an error; a later one is said, and training goes on."""

    def __init__(self, loggers: Mapping[str, RunLogger], log: Callable[[str], None]) -> None:
        self._loggers, self._log = dict(loggers), log

    def __bool__(self) -> bool:
        return bool(self._loggers)

    def begin(self, run: LoggedRun) -> None:
        """As :meth:`RunLogger.begin`."""
        for word, logger in self._loggers.items():
            try:
                logger.begin(run)
            except (BadInput, RunFailed):
                raise
            except Exception as error:
                raise _cannot_begin(word, error) from error

    def epoch(self, row: Row) -> None:
        """As :meth:`RunLogger.epoch`."""
        self._each(lambda logger: logger.epoch(row))

    def end(self, scores: Mapping[str, float], files: Sequence[Path]) -> None:
        """As :meth:`RunLogger.end`."""
        self._each(lambda logger: logger.end(scores, files))

    def _each(self, call: Callable[[RunLogger], None]) -> None:
        for word, logger in list(self._loggers.items()):
            try:
                call(logger)
            except Exception as error:
                del self._loggers[word]
                self._log(f"note: the logger {word} failed, and is left out from here on: {error}")


def known_as(folder: Path, tracker: str, new: Callable[[], str]) -> str:
    """The name under which a tracker knows the run in a folder; a new one is kept there."""
    path = folder / KEPT
    names = read_json(path, hint="Remove it: trackers then begin anew.") if path.exists() else {}
    if tracker not in names:
        names[tracker] = new()
        write_whole(path, json.dumps(names, indent=1))
    return str(names[tracker])


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as trackers take them: options of the loss one by one, sizes as words.

    >>> plain_settings({"size": (64, 64), "loss_options": (("temperature", 5.0),), "seed": 0})
    {'size': '64x64', 'seed': 0, 'temperature': 5.0}
    """
    plain = {name: _plain(value) for name, value in settings.items() if name != "loss_options"}
    return plain | {name: _plain(value) for name, value in dict(settings.get("loss_options", ())).items()}


def _plain(value: Any) -> Any:
    return "x".join(map(str, value)) if isinstance(value, list | tuple) else value


def run_scores_by_name(folder: Path, classes: Mapping[int, str]) -> dict[str, float]:
    """The final scores of a run folder: ``DECISION/METRIC/CLASS`` to the mean over cases, or the pooled value."""
    found: dict[str, float] = {}
    for one in summarise(read_cases(folder / "cases.csv")):
        where = classes.get(one.class_id, str(one.class_id))
        for metric, value in (one.means | one.pooled).items():
            if value is not None:
                found[f"{one.of.decision}/{metric}/{where}"] = value
    return found


def run_files(folder: Path) -> list[Path]:
    """What is worth keeping of a run folder, weights apart, as far as it is there."""
    names = ("README.md", "config.json", "versions.json", "split.json", "history.csv", "cases.csv", "curves.png")
    return [folder / name for name in names if (folder / name).exists()]


def log_files(text: str, run: LoggedRun, files: Sequence[Path]) -> None:
    """Files alone, as the report of a study, under a name of their own."""
    loggers = make_loggers(text, print)
    loggers.begin(run)
    loggers.end({}, files)
