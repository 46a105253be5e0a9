"""The disk fills up, or may no longer be written, at any of a study's writes: a sentence, and nothing is lost."""

import errno
import os
import shutil

import pytest
from robustness.commands import assert_a_sentence, run_command
from sampling import sample

WORDS = "compare --data synthetic --losses CE,RCE --seeds 1 --epochs 2 --steps-per-epoch 1 --batch-size 2 --jobs 1"
WRITES = 60  # a little more than there are


class Disk:
    """Takes so many files, and no more."""

    def __init__(self, takes, number):
        self.takes, self.number, self.replace = takes, number, os.replace

    def __call__(self, partial, path):
        self.takes -= 1
        if self.takes < 0:
            raise OSError(self.number, os.strerror(self.number), str(path))
        self.replace(partial, path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "study"
    with pytest.MonkeyPatch.context() as patch:
        spare(patch)
        ended = compare(folder)
    assert ended.code == 0, ended.err + ended.trace
    return (folder / "results.csv").read_bytes()


def spare(patch):
    """Without the pictures, which take most of the time, and with a second's worth of timed steps less."""
    patch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
    patch.setattr("sizewise.report.draw.draw", lambda *given, **named: [])
    patch.setattr("sizewise.study.outlook.time_steps", lambda *given, **named: None)
    patch.setattr("sizewise.train.scoring.KEPT", 1)  # pictures of a run


def compare(folder):
    return run_command(*WORDS.split(), "--device", "cpu", "--save-seconds", "0", "--out", folder)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_study_on_a_disk_that_fills_up(whole, tmp_path, monkeypatch, number):
    spare(monkeypatch)
    for takes in sample(range(WRITES), 2, seed=number):
        folder = tmp_path / "study"
        with monkeypatch.context() as patch:
            patch.setattr("sizewise.files.os.replace", Disk(takes, number))
            ended = compare(folder)
        assert ended.kind != "traceback", f"after {takes} files: {ended.trace}{ended.err}"
        if ended.code:
            assert_a_sentence(ended, f"after {takes} files") if ended.err else None
            ended = compare(folder)
        assert ended.code == 0, f"after {takes} files: {ended.err}{ended.trace}"
        assert (folder / "results.csv").read_bytes() == whole
        shutil.rmtree(folder)
