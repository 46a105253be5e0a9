"""Killed at any moment, a run goes on and ends with the same bits. Same seed, same bits; another loss, same start."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from data.layouts.image_folder import write_multiclass_folder
from sampling import EXHAUSTIVE
from train.tiny_runs import CPU, TINY, history_without_times, train_tiny

from sizewise.errors import BadInput
from sizewise.train.checkpoint import load_checkpoint, save_checkpoint
from sizewise.train.resolve import resolve
from sizewise.train.task import make_model

SETTINGS = {"epochs": 3, "ramp": "0.2:0.7", "augment": "picture", "schedule": "plateau", "patience": 0, "batch_size": 2}

# One process: it trains, and says on stdout when a file is about to be saved.
CHILD = """
import sys
sys.path[:0] = [{tests!r}]
import torch
torch.set_num_threads(1)
import sizewise.train.loop as loop
from sizewise.train import checkpoint, run_folder
from train.tiny_runs import train_tiny
loop.draw_curves = lambda *given, **named: None
inner = checkpoint.replacing
import contextlib
@contextlib.contextmanager
def announced(path):
    with inner(path) as partial:
        yield partial
        print("written", path.name, flush=True)
        sys.stdin.readline()  # the parent kills here, or lets it take the old file's place
    print("replaced", path.name, flush=True)
    sys.stdin.readline()
checkpoint.replacing = announced
train_tiny({data!r}, __import__("pathlib").Path({out!r}), resume=True, **{settings!r})
print("finished", flush=True)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """The uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
        train_tiny(data, folder, **SETTINGS)
    return folder


def assert_same_result(folder: Path, whole: Path) -> None:
    assert (folder / "cases.csv").read_bytes() == (whole / "cases.csv").read_bytes()
    assert history_without_times(folder) == history_without_times(whole)
    for name in ("best.pt", "last.pt"):
        mine, theirs = load_checkpoint(folder / name)["model"], load_checkpoint(whole / name)["model"]
        assert all(torch.equal(mine[key], theirs[key]) for key in theirs)


def words_of(settings: dict) -> list[str]:
    """Settings as options of the command, so that it trains what the other tests train."""
    words = []
    for name, value in settings.items():
        text = "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
        words += ["--" + name.replace("_", "-"), text]
    return words


def start(data, out):
    tests = str(Path(__file__).parents[1])
    code = CHILD.format(tests=tests, data=str(data), out=str(out), settings=SETTINGS)
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_killed_in_the_middle_of_a_save_and_right_after_one(data, whole, tmp_path):
    """The first is killed when last.pt of epoch 2 is written but not in place; the second right after it is."""
    folder = tmp_path / "run"
    for moment, times in (("written last.pt", 2), ("replaced last.pt", 1)):
        process = start(data, folder)
        seen = 0
        while seen < times:
            line = process.stdout.readline().strip()
            assert line, "it ended by itself"
            assert line != "finished"
            seen += line == moment
            if seen < times:
                process.stdin.write("\n")
                process.stdin.flush()
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        parts = [
            one.name for one in folder.iterdir() if one.name.startswith(".partial-") and one.name.endswith("-last.pt")
        ]
        assert len(parts) == moment.startswith("written")  # and the next clears it away
        assert load_checkpoint(folder / "last.pt")["epoch"] == (1 if moment.startswith("written") else 2)
    lines = train_tiny(data, folder, resume=True, **SETTINGS)
    assert "resuming after epoch 2" in lines
    assert_same_result(folder, whole)
    assert not [one.name for one in folder.iterdir() if one.name.startswith(".")]


COMMAND = ["train", *words_of(TINY | SETTINGS), "--save-seconds", "0", "--device", "cpu", "--workers", "1", "--resume"]


@pytest.mark.skipif(not EXHAUSTIVE, reason="ten processes are killed: with SIZEWISE_EXHAUSTIVE=1")
def test_killed_ten_times_at_random_moments_of_the_command(data, whole, tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "sizewise.cli.main", *COMMAND, "--data", str(data), "--out", str(folder)]
    draw = random.Random(0)
    longest = 5.0
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
        began = time.monotonic()
        while process.poll() is None and not (folder / "preparation.json").exists():
            time.sleep(0.02)
        try:
            process.wait(timeout=draw.uniform(0, longest))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        longest = max(longest, time.monotonic() - began)
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert_same_result(folder, whole)


pytestmark = pytest.mark.usefixtures("no_curves")


def test_same_seed_same_bits_another_seed_others(data, whole, tmp_path):
    train_tiny(data, tmp_path / "again", **SETTINGS)
    assert_same_result(tmp_path / "again", whole)
    train_tiny(data, tmp_path / "other", **SETTINGS | {"seed": 1})
    assert history_without_times(tmp_path / "other") != history_without_times(whole)


def test_streamed_from_disk_the_bits_are_the_same(data, whole, tmp_path, monkeypatch):
    monkeypatch.setenv("SIZEWISE_CACHE", str(tmp_path / "cache"))
    train_tiny(data, tmp_path / "run", runtime=replace(CPU, keep_on_device="never"), **SETTINGS)
    assert (tmp_path / "cache").is_dir()
    assert_same_result(tmp_path / "run", whole)


def test_saves_between_epochs_change_nothing(data, whole, tmp_path):
    train_tiny(data, tmp_path / "run", runtime=replace(CPU, save_seconds=1e9), **SETTINGS)
    assert_same_result(tmp_path / "run", whole)


def test_every_loss_starts_from_the_same_weights_and_sees_the_same_crops(data, tmp_path, monkeypatch):
    plans = {}
    from sizewise.train import setup

    drawn = setup.draw_plan
    for loss in ("CE", "RCE"):

        def noted(*given, loss=loss, **named):
            plan = drawn(*given, **named)
            plans.setdefault(loss, []).append(plan)
            return plan

        monkeypatch.setattr(setup, "draw_plan", noted)
        train_tiny(data, tmp_path / loss, loss=loss, epochs=2, augment="picture")
    for mine, theirs in zip(plans["CE"], plans["RCE"], strict=True):
        for name in ("cases", "origins", "motions", "colours"):
            assert (getattr(mine, name) == getattr(theirs, name)).all()
    weights = []
    for loss in ("CE", "Dice"):
        run = resolve(TINY | {"data": str(data), "loss": loss, "seed": 4})
        weights.append(make_model(run.config, run.task, in_channels=3).state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_killed_before_the_first_save_it_starts_again(data, whole, tmp_path, monkeypatch):
    folder = tmp_path / "run"

    def killed(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("sizewise.train.loop.write_history", killed)
    with pytest.raises(KeyboardInterrupt):
        train_tiny(data, folder, **SETTINGS)
    monkeypatch.undo()
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
    assert not (folder / "last.pt").exists()
    train_tiny(data, folder, resume=True, **SETTINGS)
    assert_same_result(folder, whole)


def test_the_schedule_goes_on_where_it_was(data, tmp_path, monkeypatch):
    """Every validation counts as a plateau: 1, 1/2, 1/4 of the rate."""
    from sizewise.train.schedule import Schedule

    monkeypatch.setattr(Schedule, "after_validation", lambda self, loss: setattr(self, "factor", self.factor / 2))
    folder, settings = tmp_path / "run", SETTINGS | {"learning_rate": 0.004}
    with monkeypatch.context() as patch:
        patch.setattr("sizewise.train.history.Board.add", lambda self, row: 1 / (2 - row["epoch"]))
        with pytest.raises(ZeroDivisionError):
            train_tiny(data, folder, **settings)
    train_tiny(data, folder, resume=True, **settings)
    assert [row["learning_rate"] for row in history_without_times(folder)] == [0.004, 0.002, 0.001]


def test_killed_after_the_last_epoch_only_the_scores_are_left_to_do(data, whole, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("sizewise.train.run_scores.score_cases", lambda *given, **named: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train_tiny(data, folder, **SETTINGS)
    assert not (folder / "cases.csv").exists()
    with monkeypatch.context() as patch:
        patch.setattr("sizewise.train.loop.StoreCache.load", lambda *given, **named: 1 / 0)  # nothing is read again
        train_tiny(data, folder, resume=True, **SETTINGS)
    assert_same_result(folder, whole)
    assert train_tiny(data, folder, resume=True, **SETTINGS) == [f"{folder} is finished already."]


def test_a_checkpoint_of_another_run_is_not_taken_for_this_one(data, tmp_path):
    train_tiny(data, tmp_path / "run", epochs=2)
    (tmp_path / "run" / "cases.csv").unlink()
    state = load_checkpoint(tmp_path / "run" / "last.pt")
    save_checkpoint(tmp_path / "run" / "last.pt", state | {"config": "deadbeef"})
    with pytest.raises(BadInput, match=r"last\.pt was written under other settings \(deadbeef\)"):
        train_tiny(data, tmp_path / "run", epochs=2, resume=True)


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def test_damaged_best_weights_come_from_the_state_where_it_has_them(data, whole, tmp_path, monkeypatch):
    """Else the run says so before it goes on, not when the rest is trained."""
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("sizewise.train.history.Board.add", lambda self, row: 1 / (2 - row["epoch"]))
        with pytest.raises(ZeroDivisionError):
            train_tiny(data, folder, **SETTINGS)
    state = load_checkpoint(folder / "last.pt")
    assert state["epoch"] == state["best_epoch"] == 1
    flip(folder / "best.pt")
    with pytest.raises(BadInput, match=r"best\.pt is damaged: the checksum of .* does not fit"):
        load_checkpoint(folder / "best.pt")
    train_tiny(data, folder, resume=True, **SETTINGS)
    assert_same_result(folder, whole)
    (folder / "cases.csv").unlink()
    save_checkpoint(folder / "last.pt", load_checkpoint(folder / "last.pt") | {"best_epoch": 1})
    flip(folder / "best.pt")
    with pytest.raises(BadInput, match=r"best\.pt is damaged"):
        train_tiny(data, folder, resume=True, **SETTINGS)


def test_a_table_that_was_cut_short_is_scored_again(data, whole, tmp_path):
    import shutil

    folder = shutil.copytree(whole, tmp_path / "run")
    lines = (folder / "cases.csv").read_text().splitlines(keepends=True)
    (folder / "cases.csv").write_text("".join(lines[:-3]))
    train_tiny(data, folder, resume=True, **SETTINGS)
    assert (folder / "cases.csv").read_bytes() == (whole / "cases.csv").read_bytes()


def test_data_that_changed_since_the_run_began(data, tmp_path):
    import shutil

    copy = shutil.copytree(data, tmp_path / "data")
    train_tiny(copy, tmp_path / "run")
    (tmp_path / "run" / "cases.csv").unlink()
    gone = next((copy / "test" / "images").iterdir())
    (copy / "test" / "labels" / gone.name).unlink()
    gone.unlink()
    with pytest.raises(
        BadInput, match=r"has changed since the run began: 1 case of its split\.json can no longer be found"
    ):
        train_tiny(copy, tmp_path / "run", resume=True)


def test_encoder_weights_are_needed_to_begin_and_not_to_go_on(data, tmp_path, monkeypatch):
    """Their file, or the hub, may be out of reach later. The saved state knows the layout of the strides, too."""
    from safetensors.torch import save_file

    from sizewise.models.smp import import_smp

    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
    file = tmp_path / "resnet18-v1.safetensors"
    save_file(import_smp().encoders.get_encoder("resnet18").state_dict(), file)
    settings = {"model": "fpn-resnet18", "encoder_weights": str(file), "size": (64, 64), "epochs": 2}
    train_tiny(data, tmp_path / "whole", **settings)
    with monkeypatch.context() as patch:
        patch.setattr("sizewise.train.history.Board.add", lambda self, row: 1 / (2 - row["epoch"]))
        with pytest.raises(ZeroDivisionError):
            train_tiny(data, tmp_path / "run", **settings)
    file.unlink()
    assert "resuming after epoch 1" in train_tiny(data, tmp_path / "run", resume=True, **settings)
    assert_same_result(tmp_path / "run", tmp_path / "whole")
