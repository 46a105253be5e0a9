"""MLflow with its real local store, in SQLite."""

import json
import os
import subprocess
import sys

import pytest
from train.tiny_runs import CPU, train_tiny

from sizewise.train.config import Runtime
from sizewise.train.history import read_history
from sizewise.train.loggers.logger import LoggedRun
from sizewise.train.loggers.mlflow_logger import Logger

mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: pip install '.[mlflow]'")
pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed: pip install '.[mlflow]'")


@pytest.mark.filterwarnings("ignore")  # its own
@pytest.mark.usefixtures("no_curves")
def test_parameters_curves_scores_and_files_of_a_run_that_is_continued(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    runtime = Runtime(**(vars(CPU) | {"logger": "mlflow"}))
    train_tiny("synthetic", tmp_path / "run", epochs=2, runtime=runtime)
    name = json.loads((tmp_path / "run" / "trackers.json").read_text())["mlflow"]
    client = mlflow.MlflowClient()
    found = client.get_run(name)
    assert found.info.status == "FINISHED"
    assert found.data.params["loss"] == "JaccardCE"
    assert found.data.params["class_3"] == "lesion"
    rows = read_history(tmp_path / "run" / "history.csv")
    for column in ("train_loss", "train_Jaccard", "val_dsc_2", "val_size_error_1"):
        curve = client.get_metric_history(name, column)
        assert [(int(point.step), point.value) for point in curve] == [
            (int(row["epoch"]), pytest.approx(row[column])) for row in rows
        ]
    assert 0 <= found.data.metrics["test/argmax/dsc/organ"] <= 1
    assert {"README.md", "history.csv", "cases.csv"} <= {file.path for file in client.list_artifacts(name)}
    (tmp_path / "run" / "cases.csv").unlink()  # as if killed before the scores
    train_tiny("synthetic", tmp_path / "run", epochs=2, runtime=runtime, resume=True)
    assert json.loads((tmp_path / "run" / "trackers.json").read_text())["mlflow"] == name
    assert len(client.search_runs([found.info.experiment_id])) == 1


@pytest.mark.filterwarnings("ignore")  # its own
def test_class_names_that_are_no_names_of_its_metrics(tmp_path, monkeypatch):
    """It refuses all values where one has such a name, and the run would stay unfinished there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    logger = Logger()
    logger.begin(LoggedRun("run", tmp_path, {"loss": "CE"}, {1: "tumour (left)", 2: "<5 mm", 3: ">5 mm"}))
    logger.end({"argmax/dsc/tumour (left)": 0.1, "argmax/dsc/<5 mm": 0.2, "argmax/dsc/>5 mm": 0.3}, [])
    found = mlflow.MlflowClient().get_run(logger.id)
    assert found.info.status == "FINISHED"
    assert found.data.params["class_1"] == "tumour (left)"
    assert sorted(found.data.metrics.values()) == [0.1, 0.2, 0.3]


BEGIN = """
import sys
from pathlib import Path
from sizewise.train.loggers.logger import LoggedRun
from sizewise.train.loggers.mlflow_logger import Logger
folder = Path(sys.argv[1])
folder.mkdir()
Logger().begin(LoggedRun(folder.name, folder, {"loss": "CE"}, {}))
"""


def test_runs_that_begin_together_make_one_store(tmp_path):
    """Processes of a study that find no store yet: the first makes it, the others use it."""
    environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db"}
    started = [
        subprocess.Popen([sys.executable, "-c", BEGIN, str(tmp_path / name)], env=environment, cwd=tmp_path)
        for name in ("a", "b")
    ]
    assert [process.wait() for process in started] == [0, 0]
