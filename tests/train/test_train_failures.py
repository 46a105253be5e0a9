"""What the machine throws, as sentences; a run that fails leaves its folder as it was saved."""

import errno
import threading
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
import torch
from data.layouts.image_folder import write_image_folder
from train.tiny_runs import CPU, train_tiny

from sizewise.errors import BadInput, RunFailed
from sizewise.metrics.cases_csv import write_cases
from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.config import RunConfig
from sizewise.train.failures import check_finite, explained, explained_prediction
from sizewise.train.history import read_history
from sizewise.train.training_step import Step

CONFIG = RunConfig(data="synthetic", batch_size=4, size=(64, 32), model="monai-unet")
ALLOCATOR = "[enforce fail at alloc_cpu.cpp:119] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.\nmore"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried\nmore"), r"out of memory with batches of 4 \(64×32\) in monai-unet. Use a smaller `batch_size`.*\(CUDA out of memory. Tried\)"),
        (RuntimeError(ALLOCATOR), "out of memory with batches of 4"),
        (MemoryError(), r"out of memory .* \(MemoryError\)"),
        (OSError(errno.ENOSPC, "No space left on device"), "the disk of run is full. Free some space, and resume the run"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "the disk of run is full"),
        (OSError(errno.EFBIG, "File too large"), r"a file in run reached the largest size .*ulimit -f\), and resume the run"),
        (PermissionError(errno.EACCES, "Permission denied", "run/x"), "'run/x' may not be written: Permission denied.*resume the run"),
        (OSError(errno.EROFS, "Read-only file system"), "'run' may not be written: Read-only file system"),
        (BrokenProcessPool("terminated"), "a process that scores test cases was killed"),
        (ValueError("Expected more than 1 value per channel when training, got"), "shrinks batches of 4 .* to a single pixel"),
    ],
)  # fmt: skip
def test_sentences(error, message):
    with pytest.raises(RunFailed, match=message), explained(CONFIG, Path("run")):
        raise error


def test_scores_that_cannot_be_written_are_a_failed_run(monkeypatch, tmp_path):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sizewise.metrics.cases_csv.os.fsync", full)
    with pytest.raises(RunFailed, match=r"is full\. Free some space, and resume"), explained(CONFIG, tmp_path):
        write_cases(tmp_path / "cases.csv", [])
    with pytest.raises(BadInput, match="no such file"), explained(CONFIG, tmp_path):
        raise BadInput("no such file")


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), OSError(errno.EIO, "broken"), ValueError("other"), KeyError("k")]
)
def test_other_errors_stay_what_they_are(error):
    for explain in (explained(CONFIG, Path("run")), explained_prediction(Path("out"))):
        with pytest.raises(type(error)) as caught, explain:
            raise error
        assert caught.value is error


def test_predicting_has_its_own_advice():
    with pytest.raises(RunFailed, match="`device=cpu`"), explained_prediction(Path("out")):
        raise torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(RunFailed, match="the disk of out is full"), explained_prediction(Path("out")):
        raise OSError(errno.ENOSPC, "full")


def test_losses_that_are_no_number():
    check_finite({"loss": 1.0}, epoch=3, folder=Path("run"))
    with pytest.raises(RunFailed, match=r"in epoch 3 \(Dice = nan\). Lower `learning_rate`"):
        check_finite({"loss": 1.0, "Dice": float("nan")}, epoch=3, folder=Path("run"))
    with pytest.raises(RunFailed, match="loss = -inf"):
        check_finite({"loss": -float("inf")}, epoch=3, folder=Path("run"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_image_folder(tmp_path_factory.mktemp("data"))


def test_a_nan_in_epoch_2_leaves_epoch_1(tmp_path, data, monkeypatch):
    compute = Step._compute
    steps = []

    def spoiled(self, **named):
        compute(self, **named)
        steps.append(1)
        if len(steps) == 4:  # two steps an epoch
            self.sums.fill_(float("nan"))

    monkeypatch.setattr(Step, "_compute", spoiled)
    threads = set(threading.enumerate())
    with pytest.raises(RunFailed, match="the loss became no number in epoch 2"):
        train_tiny(data, tmp_path / "run", epochs=3)
    left = [type(one).__module__ for one in set(threading.enumerate()) - threads]
    assert not any("tensorboard" in module for module in left)  # it would write into a folder that may be gone
    assert load_checkpoint(tmp_path / "run" / "last.pt")["epoch"] == 1
    assert len(read_history(tmp_path / "run" / "history.csv")) == 1
    monkeypatch.undo()
    lines = train_tiny(data, tmp_path / "run", epochs=3, resume=True)
    assert "resuming after epoch 1" in lines
    assert (tmp_path / "run" / "cases.csv").exists()


def test_a_full_disk_in_epoch_2_leaves_epoch_1_and_it_goes_on(tmp_path, data, monkeypatch):
    save = torch.save

    def full(content, file):
        if content.get("epoch") == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(content, file)

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(RunFailed, match=r"the disk of .*run is full"):
        train_tiny(data, tmp_path / "run", epochs=2, runtime=CPU)
    assert load_checkpoint(tmp_path / "run" / "last.pt")["epoch"] == 1
    assert not [one.name for one in (tmp_path / "run").iterdir() if one.name.startswith(".")]
    monkeypatch.undo()
    train_tiny(data, tmp_path / "run", epochs=2, resume=True)
    assert load_checkpoint(tmp_path / "run" / "last.pt")["epoch"] == 2


def test_an_image_that_shrinks_to_a_pixel_says_so(tmp_path, data):
    with pytest.raises(RunFailed, match=r"monai-unet shrinks batches of 1 .16×16. to a single pixel"):
        train_tiny(data, tmp_path / "run", model="monai-unet", batch_size=1)
