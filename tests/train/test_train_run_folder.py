"""Nothing in a run folder is ever half written, and no two runs share one."""

import json
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.train.config import RunConfig
from sizewise.train.run_folder import (
    RunBusy,
    is_finished,
    locked,
    open_run,
    read_config,
    settings_hash,
)

CONFIG = RunConfig(data="synthetic")

KILLED = """
import os, signal, sys
from pathlib import Path
from sizewise.files import replacing
with replacing(Path(sys.argv[1])) as partial:
    partial.write_bytes(b"half of the new")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_in_the_middle_of_a_write_leaves_the_old_file_and_the_rest_is_cleared_away(tmp_path):
    write_whole(tmp_path / "last.pt", b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "last.pt")])
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "last.pt").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2  # the old file and the part
    with locked(tmp_path):
        assert sorted(one.name for one in tmp_path.iterdir()) == ["last.pt", "run.lock"]


def test_a_new_folder_gets_its_settings(tmp_path):
    open_run(tmp_path / "deep" / "run", CONFIG, resume=False)
    assert read_config(tmp_path / "deep" / "run") == CONFIG
    assert settings_hash(tmp_path / "deep" / "run") == CONFIG.hash
    assert not is_finished(tmp_path / "deep" / "run")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"merge": "no"}, "merge must be true or false, got 'no'"),  # which Python takes for true
        ({"seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"epochs": True}, "epochs must be a whole number, got True"),
        ({"data": 3}, "data must be text, got 3"),
        ({"loss": ["CE"]}, r"loss must be text, got \['CE'\]"),
        ({"weight": "1"}, "weight must be a number or nothing, got '1'"),
        ({"size": [16, "a"]}, "size must be a whole number, got 'a'"),
        ({"size": None}, "size must be a list, got None"),
        ({"augment": 1}, "augment must be text, got 1"),
    ],
)
def test_settings_of_another_kind_than_was_written_are_refused(tmp_path, change, said):
    open_run(tmp_path / "run", CONFIG, resume=False)
    (tmp_path / "run" / "config.json").write_text(json.dumps(json.loads(CONFIG.to_json()) | change))
    with pytest.raises(BadInput, match=said):
        read_config(tmp_path / "run")


def test_a_folder_that_was_killed_before_it_had_settings_is_taken(tmp_path):
    (tmp_path / ".partial-abcd-config.json").write_text("{")
    (tmp_path / "run.lock").touch()
    open_run(tmp_path, CONFIG, resume=True)
    assert read_config(tmp_path) == CONFIG


def test_folders_that_hold_something_else(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="is a file; name a folder"):
        open_run(tmp_path / "file", CONFIG, resume=False)
    with pytest.raises(BadInput, match="cannot be made: Not a directory"):
        open_run(tmp_path / "file" / "run", CONFIG, resume=False)
    with pytest.raises(BadInput, match="holds other files and no run"):
        open_run(tmp_path, CONFIG, resume=True)
    with pytest.raises(BadInput, match=r"is no run folder: it has no config\.json"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(BadInput, match=r"config\.json' cannot be read"):
        read_config(tmp_path)


def test_the_same_run_needs_resume_and_another_is_refused(tmp_path):
    folder = tmp_path / "run"
    open_run(folder, CONFIG, resume=False)
    with pytest.raises(BadInput, match=r"holds this run already, unfinished\. Continue it with `resume=True`"):
        open_run(folder, CONFIG, resume=False)
    open_run(folder, CONFIG, resume=True)
    with pytest.raises(BadInput, match=r"holds a run with other settings \(`seed`: 0, not 3\). Use another `folder`"):
        open_run(folder, replace(CONFIG, seed=3), resume=True)
    (folder / "cases.csv").touch()
    with pytest.raises(BadInput, match="holds this run already, finished"):
        open_run(folder, CONFIG, resume=False)


def test_only_one_works_in_a_folder(tmp_path):
    with locked(tmp_path), pytest.raises(RunBusy, match="another process is working on this run"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "run.lock").mkdir()  # stands for a missing permission, which an administrator would not lack
    with pytest.raises(BadInput, match=r"cannot be written: .* Name another `folder`"), locked(tmp_path):
        pass
