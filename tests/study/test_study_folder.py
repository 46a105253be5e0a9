"""A study folder that two processes open at once, and what is no study."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from sizewise.errors import BadInput
from sizewise.study.config import StudyConfig
from sizewise.study.folder import open_study, read_study, runs_of, write_results
from sizewise.study.grid import plan_runs

ADD = """
import sys
from pathlib import Path
from sizewise.study.config import StudyConfig
from sizewise.study.folder import open_study
for number in range(20):
    config = StudyConfig(data=("synthetic",), losses=("CE",), seeds=(int(sys.argv[2]) + 2 * number,))
    open_study(Path(sys.argv[1]), config, command=f"sizewise compare --seeds {config.seeds[0]}")
"""


def test_two_processes_that_add_to_a_study_lose_nothing(tmp_path):
    """Each adds twenty seeds, the even or the odd ones; without a lock one would write over what the other added."""
    folder = tmp_path / "study"

    def add(first):
        return subprocess.run([sys.executable, "-c", ADD, folder, str(first)], check=True, timeout=120)

    with ThreadPoolExecutor(2) as both:
        list(both.map(add, (0, 1)))
    assert sorted(read_study(folder).seeds) == list(range(40))
    assert len(json.loads((folder / "study.json").read_text())["commands"]) == 40


def test_results_are_of_the_study_as_it_is_now(tmp_path):
    """A process that planned two runs, while another added a seed: its results.csv has the other's run too."""
    config = StudyConfig(data=("synthetic",), losses=("CE", "RCE"), seeds=(0,), settings=(("epochs", 1),))
    planned = plan_runs(open_study(tmp_path, config, command="first"))
    assert runs_of(tmp_path, planned) is planned  # nothing was added: no second planning
    later = plan_runs(
        open_study(
            tmp_path, StudyConfig(("synthetic",), ("CE",), seeds=(1,), settings=config.settings), command="second"
        )
    )
    assert len(later) == 4
    for number, run in enumerate(later):
        place = tmp_path / "runs" / run.name
        place.mkdir()
        (place / "cases.csv").write_text(f"header\n{number}\n")
    assert write_results(tmp_path, planned).read_text() == "header\n0\n1\n2\n3\n"


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
