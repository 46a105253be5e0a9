"""Engines: found by name, with their own options, added from outside; a study knows none of them."""

import inspect
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import pytest
from study.tiny_study import SETTINGS
from typer.testing import CliRunner

from sizewise.cli import compare as command
from sizewise.cli.commands import make_app
from sizewise.errors import BadInput
from sizewise.study.compare import compare
from sizewise.study.engines import engine as engines
from sizewise.study.engines.engine import ENGINES, make_engine
from sizewise.study.study_words import parse_study
from sizewise.study.worker import Worker
from sizewise.train.config import Runtime


def test_every_engine_of_the_folder_is_found_by_its_name():
    files = Path(engines.__file__).parent.glob("*_engine.py")
    assert set(ENGINES) == {file.stem.removesuffix("_engine") for file in files} == {"local", "ray", "slurm"}


def test_a_study_knows_no_engines_options():
    """Neither compare nor its command line names one: they come from the engines."""
    named = set(inspect.signature(compare).parameters) | set(inspect.getsource(command).replace('"', " ").split())
    for option in ("jobs", "address", "slurm_workers"):
        assert option not in named
        assert option in inspect.signature(command.command).parameters


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "ray", "--jobs", "2"), "the engine ray does not take --jobs; it takes --address."),
        (("--engine", "lsf"), "--engine must be one of local, ray, slurm, got 'lsf'."),
        (("--engine", "slurm", "--slurm", "partition"), "--slurm must be options as partition=gpu,time=240"),
        (("--jobs", "none"), "--jobs must be auto or a number from 1 to 512, got none."),
    ],
)
def test_options_that_an_engine_has_not_are_refused(tmp_path, words, said):
    start = ["compare", "--data", "synthetic", "--losses", "CE", "--out", str(tmp_path / "study")]
    result = CliRunner().invoke(make_app(), [*start, *words])
    assert isinstance(result.exception, BadInput)
    assert said in str(result.exception)
    assert not (tmp_path / "study").exists()


@dataclass(frozen=True)
class Backwards:
    """Carries out the last run first.

    Attributes:
        pause: something of its own.
    """

    pause: str = "none"

    def threads(self, runtime):
        return 1

    def run(self, work):
        worker = Worker(work.folder)
        for run in reversed(work.runs):
            worker.carry_out(run, work.runtime)
            work.after_run(run)


def test_an_engine_from_outside_carries_out_a_study(tmp_path, monkeypatch, capsys):
    """Two files in the package, the engine and its test; one line in a program of one's own."""
    module = types.ModuleType("my_engine")
    module.Engine = Backwards
    monkeypatch.setitem(sys.modules, "my_engine", module)
    monkeypatch.setitem(ENGINES, "backwards", "my_engine")
    config = parse_study({"data": "synthetic", "losses": "CE", "seeds": "2", "settings": SETTINGS})
    engine = make_engine("backwards", {"pause": "short"})
    outcome = compare(config, folder=tmp_path, runtime=Runtime(accelerator="cpu", save_seconds=0), engine=engine)
    assert outcome == ([], [])
    lines = [line for line in capsys.readouterr().out.splitlines() if "finished in" in line]
    assert ["-s1-" in line for line in lines] == [True, False]
