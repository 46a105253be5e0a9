"""What loggers are told, one of one's own, and what happens when one fails."""

import sys
import types

import pytest
from train.tiny_runs import CPU, TINY, train_tiny

from sizewise.errors import BadInput, RunFailed
from sizewise.metrics.cases_csv import read_cases
from sizewise.train.config import Runtime
from sizewise.train.history import read_history
from sizewise.train.loggers import logger as loggers
from sizewise.train.loggers.logger import LOGGERS, known_as, logger_words
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training

pytestmark = pytest.mark.usefixtures("no_curves")


class MyLogger:
    """Ten lines, as the docs have them."""

    told: list = []  # noqa: RUF012

    def begin(self, run):
        self.told.append(("begin", run.name, run.settings["loss"], dict(run.classes)))

    def epoch(self, row):
        self.told.append(("epoch", row))

    def end(self, scores, files):
        self.told.append(("end", scores, [file.name for file in files]))


class Failing(MyLogger):
    def epoch(self, row):
        raise ConnectionError("the network is gone")


class Refusing(MyLogger):
    def begin(self, run):
        raise OSError("nobody there")


class Unborn(MyLogger):
    def __init__(self):
        raise RuntimeError("no server")


class Deaf:
    def begin(self, run): ...


@pytest.fixture
def mine(monkeypatch):
    module = types.ModuleType("my_trackers")
    for one in (MyLogger, Failing, Refusing, Unborn, Deaf):
        setattr(module, one.__name__, one)
    monkeypatch.setitem(sys.modules, "my_trackers", module)
    MyLogger.told.clear()
    return MyLogger.told


def logged(words):
    return Runtime(**(vars(CPU) | {"logger": words}))


def test_one_of_ones_own_hears_everything(mine, tmp_path):
    train_tiny("synthetic", tmp_path / "run", epochs=2, runtime=logged("my_trackers:MyLogger"))
    assert [one[0] for one in mine] == ["begin", "epoch", "epoch", "end"]
    assert mine[0][2:] == ("JaccardCE", {1: "organ", 2: "cyst", 3: "lesion"})
    assert [one[1] for one in mine[1:3]] == read_history(tmp_path / "run" / "history.csv")
    row = mine[2][1]
    assert {"train_CrossEntropy", "train_Jaccard", "val_Jaccard", "val_dsc_2", "val_size_error_3"} <= set(row)
    scores, files = mine[3][1:]
    values = [
        row.value
        for row in read_cases(tmp_path / "run" / "cases.csv")
        if (row.metric, row.class_id) == ("dsc", 1) and row.value is not None
    ]
    assert scores["argmax/dsc/organ"] == pytest.approx(sum(values) / len(values))
    assert "argmax/dsc_pooled/lesion" in scores
    assert {"config.json", "history.csv", "cases.csv", "README.md"} <= set(files)


def test_a_tracker_that_fails_later_costs_its_record_alone(mine, tmp_path):
    lines = train_tiny(
        "synthetic", tmp_path / "run", epochs=2, runtime=logged("my_trackers:Failing,my_trackers:MyLogger")
    )
    said = [line for line in lines if "left out from here on" in line]
    assert said == ["note: the logger my_trackers:Failing failed, and is left out from here on: the network is gone"]
    assert (tmp_path / "run" / "cases.csv").exists()
    assert [one[0] for one in mine].count("end") == 1


def test_one_that_cannot_begin_is_an_error_before_training(mine, tmp_path):
    with pytest.raises(RunFailed, match="the logger my_trackers:Refusing could not begin: OSError: nobody there"):
        train_tiny("synthetic", tmp_path / "run", runtime=logged("my_trackers:Refusing"))
    assert not (tmp_path / "run" / "history.csv").exists()


def test_one_that_cannot_be_made_is_a_sentence_and_leaves_no_folder(mine, tmp_path):
    with pytest.raises(RunFailed, match="the logger my_trackers:Unborn could not begin: RuntimeError: no server"):
        train_tiny("synthetic", tmp_path / "run", runtime=logged("my_trackers:Unborn"))
    assert not (tmp_path / "run").exists()


def test_a_finished_run_shows_what_is_scored_now_or_says_that_nothing_is(mine, tmp_path):
    train_tiny("synthetic", tmp_path / "run")
    lines: list[str] = []
    again = {"folder": tmp_path / "run", "runtime": logged("my_trackers:MyLogger"), "resume": True}
    run_training(resolve(TINY | {"data": "synthetic"}), **again, log=lines.append)
    assert lines[-1] == "note: nothing was trained or scored, so my_trackers:MyLogger is shown nothing."
    assert mine == []
    run_training(resolve(TINY | {"data": "synthetic"}), **again, decisions=["dice"], log=lines.append)
    assert [one[0] for one in mine] == ["begin", "end"]
    assert {"argmax/dsc/organ", "dice/dsc/organ"} <= set(mine[1][1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "wanbd",
            r"must be one of mlflow, tensorboard, wandb, or your own as my_module:MyLogger.*Did you mean 'wandb'",
        ),
        ("my_trackers:Gone", "the module my_trackers has no Gone"),
        ("my_trackers:Deaf", "it has no epoch, end"),
    ],
)
def test_what_is_no_logger(mine, tmp_path, words, said):
    with pytest.raises(BadInput, match=said):
        train_tiny("synthetic", tmp_path / "run", runtime=logged(words))
    assert not (tmp_path / "run").exists()


def test_found_by_file_name_and_known_by_one_name(tmp_path):
    assert set(LOGGERS) == {"wandb", "mlflow", "tensorboard"}
    assert logger_words("") == ()
    assert known_as(tmp_path, "wandb", lambda: "a") == "a"
    assert known_as(tmp_path, "wandb", lambda: "b") == "a"
    assert known_as(tmp_path, "mlflow", lambda: "c") == "c"
    (tmp_path / "trackers.json").write_text("{")
    with pytest.raises(BadInput, match="Remove it: trackers then begin anew"):
        known_as(tmp_path, "wandb", lambda: "a")
    assert "class MyLogger" in loggers.__doc__
