"""MLflow. Where it keeps things is its own: ``MLFLOW_TRACKING_URI`` (a server, or ``sqlite:///mlflow.db``)."""

import contextlib
import hashlib
import math
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sizewise.errors import import_extra
from sizewise.train.history import Row
from sizewise.train.loggers.logger import LoggedRun, known_as, plain_settings

EXPERIMENT = "sizewise"
MOST_LETTERS = 500  # of a parameter's value, for any store
NOT_IN_NAMES = re.compile(r"[^\w.\- :/]")  # one such letter, and MLflow takes none of the values


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Of the processes of this machine: runs of a study begin together, and a new SQLite store is made by the first."""
    import fcntl

    store = os.environ.get("MLFLOW_TRACKING_URI", "") + str(Path.cwd())
    name = f"sizewise-mlflow-{os.getuid()}-{hashlib.sha256(store.encode()).hexdigest()[:16]}.lock"
    with open(Path(tempfile.gettempdir()) / name, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Logger:
    """One MLflow run for each run, in the experiment ``MLFLOW_EXPERIMENT_NAME`` or sizewise; files as artifacts."""

    def begin(self, run: LoggedRun) -> None:
        """Open the run under the name that it has in its folder."""
        mlflow: Any = import_extra("mlflow", extra="mlflow", reason="logging to MLflow")
        self.entities: Any = import_extra("mlflow.entities", extra="mlflow", reason="logging to MLflow")
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        with one_at_a_time():
            self.client = mlflow.MlflowClient()
            self.id = known_as(run.folder, "mlflow", lambda: self._new(name, run))
            self.client.update_run(self.id, status="RUNNING")
        settings = plain_settings(run.settings) | {f"class_{k}": name for k, name in run.classes.items()}
        chosen = {key: str(value)[:MOST_LETTERS] for key, value in settings.items() if value not in ("", None)}
        self.client.log_batch(self.id, params=[self.entities.Param(key, value) for key, value in chosen.items()])

    def _new(self, experiment: str, run: LoggedRun) -> str:
        found = self.client.get_experiment_by_name(experiment)
        place = found.experiment_id if found is not None else self.client.create_experiment(experiment)
        return str(self.client.create_run(place, run_name=run.name).info.run_id)

    def epoch(self, row: Row) -> None:
        """One point of each curve."""
        self._log(row, int(row["epoch"]))

    def end(self, scores: Mapping[str, float], files: Sequence[Path]) -> None:
        """Scores, files, and that it is finished."""
        self._log({f"test/{name}": value for name, value in scores.items()}, 0)
        for file in files:
            self.client.log_artifact(self.id, str(file))
        self.client.set_terminated(self.id)

    def _log(self, values: Mapping[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        known = {name: float(value) for name, value in values.items() if math.isfinite(value)}
        names = allowed_names(known)
        self.client.log_batch(
            self.id, metrics=[self.entities.Metric(names[name], value, now, step) for name, value in known.items()]
        )


def allowed_names(names: Iterable[str]) -> dict[str, str]:
    """Names as MLflow takes them; letters that it does not are their code where an underscore would join two names.

    >>> allowed_names(["dsc/lesion (left)"]), allowed_names(["<5 mm", ">5 mm"])
    ({'dsc/lesion (left)': 'dsc/lesion _left_'}, {'<5 mm': '_3c5 mm', '>5 mm': '_3e5 mm'})
    """
    plain = {name: NOT_IN_NAMES.sub("_", name) for name in names}
    if len(set(plain.values())) == len(plain):
        return plain
    return {name: NOT_IN_NAMES.sub(lambda found: f"_{ord(found[0]):x}", name) for name in plain}
