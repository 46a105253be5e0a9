"""A study folder that two processes open at once, and what is no study."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import Row, RunColumns, read_cases, write_cases
from sizewise.study.compare import compare
from sizewise.study.grid import plan_runs
from sizewise.study.study_config import StudyConfig
from sizewise.study.study_folder import open_study, read_study

ADD = """
import sys
from pathlib import Path
from sizewise.study.study_config import StudyConfig
from sizewise.study.study_folder import open_study
for number in range(20):
    config = StudyConfig(data=("synthetic",), losses=("CE",), seeds=(int(sys.argv[2]) + 2 * number,))
    open_study(Path(sys.argv[1]), config, command=f"sizewise compare --seeds {config.seeds[0]}")
"""


def test_two_processes_that_add_to_a_study_lose_nothing(tmp_path):
    """Each adds twenty seeds, the even or the odd ones; without a lock one would write over what the other added."""
    folder = tmp_path / "study"

    def add(first):
        return subprocess.run([sys.executable, "-c", ADD, folder, str(first)], check=True, timeout=600)

    with ThreadPoolExecutor(2) as both:
        list(both.map(add, (0, 1)))
    assert sorted(read_study(folder).seeds) == list(range(40))
    assert len(json.loads((folder / "study.json").read_text())["commands"]) == 40


def test_results_are_of_the_study_as_it_is_now(tmp_path, monkeypatch):
    """While a process works on its two runs, another adds a seed and finishes it: results.csv has that run too."""
    folder = tmp_path / "study"

    @dataclass(frozen=True)
    class Meanwhile:
        """An engine that does nothing itself."""

        def threads(self, runtime):
            return 1

        def run(self, work):
            later = open_study(folder, study(seeds=(0, 1)), command="second")
            for number, run in enumerate(plan_runs(later)):
                of = RunColumns(run=run.name, loss=run.config.loss, seed=str(run.config.seed))
                write_cases(folder / "runs" / run.name / "cases.csv", [Row(of, "a", 1, "dsc", number / 4)])

    def study(seeds):
        return StudyConfig(("synthetic",), ("CE", "RCE"), seeds=seeds, settings=(("epochs", 1),))

    assert compare(study((0,)), folder=folder, engine=Meanwhile()) == ([], [])
    assert [row.value for row in read_cases(folder / "results.csv")] == [0, 0.25, 0.5, 0.75]


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    config = StudyConfig(data=("synthetic",), losses=("CE",))
    with pytest.raises(BadInput, match="holds no study"):
        open_study(tmp_path, config, command="")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(BadInput, match="holds no study"):
        open_study(tmp_path / "thesis.tex", config, command="")
    with pytest.raises(BadInput, match="cannot be made"):
        open_study(tmp_path / "thesis.tex" / "study", config, command="")
