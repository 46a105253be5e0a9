"""history.csv, the event file, the line on the screen, and the curves."""

import math

import numpy as np
import pytest
from PIL import Image

from sizewise.train.curves import draw_curves
from sizewise.train.history import Board, epoch_line, epoch_row, read_history, write_history
from sizewise.train.validation import Validation
from sizewise.wording import clock

FOUND = Validation(
    loss=0.5, terms={"CrossEntropy": 0.4}, dsc=(0.25, math.nan), dsc_pooled=(0.5, 0.125), size_error=(-0.5, 0.0)
)


def row(epoch, validation=None):
    return epoch_row(
        epoch=epoch,
        learning_rate=0.1 / epoch,
        train={"loss": 1 / 3, "CrossEntropy": 0.1},
        validation=validation,
        first_class=1,
        steps=7,
        train_seconds=1.5,
        seconds=2.0,
    )


def test_rows_name_what_belongs_to_a_class():
    assert row(2, FOUND) == {
        "epoch": 2,
        "learning_rate": 0.05,
        "train_loss": 1 / 3,
        "train_CrossEntropy": 0.1,
        "val_loss": 0.5,
        "val_dsc": 0.25,
        "val_CrossEntropy": 0.4,
        "val_dsc_1": 0.25,
        "val_dsc_pooled_1": 0.5,
        "val_size_error_1": -0.5,
        "val_dsc_2": pytest.approx(math.nan, nan_ok=True),
        "val_dsc_pooled_2": 0.125,
        "val_size_error_2": 0.0,
        "steps": 7,
        "train_seconds": 1.5,
        "seconds": 2.0,
    }


def test_numbers_come_back_exactly_and_epochs_without_validation_have_empty_cells(tmp_path):
    rows = [row(1), row(2, FOUND), row(3)]
    write_history(tmp_path / "history.csv", rows)
    lines = (tmp_path / "history.csv").read_text().splitlines()
    assert len({line.count(",") for line in lines}) == 1
    again = read_history(tmp_path / "history.csv")
    assert again[0] == rows[0]
    assert again[1] == {name: value for name, value in rows[1].items() if not math.isnan(value)}


def test_the_line_on_the_screen():
    assert (
        epoch_line(row(2, FOUND), epochs=10, seconds_left=3700)
        == "epoch  2/10  loss 0.3333  val loss 0.5000  val DSC 25.00 %  lr 0.05  2.0 s  1:01:40 left"
    )
    assert clock(59.6) == "1:00"


def test_tensorboard_shows_the_epochs_that_a_resumed_run_repeats_once(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    killed = Board(tmp_path, first_epoch=1)
    for epoch in (1, 2, 3):
        killed.add(row(epoch))  # on disk at once: the process may be killed now
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) > 500
    killed.close()
    resumed = Board(tmp_path, first_epoch=3)
    resumed.add(row(3, FOUND))
    resumed.close()
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [one.step for one in events.Scalars("train/loss")] == [1, 2, 3]
    assert "val/dsc_2" not in events.Tags()["scalars"]  # it has no value


def test_tensorboard_begins_with_the_first_epoch(tmp_path):
    """A thread that writes later, into the folder of a run that was refused in between, printed a traceback."""
    board = Board(tmp_path / "tensorboard", first_epoch=1)
    assert not (tmp_path / "tensorboard").exists()
    board.close()
    assert not (tmp_path / "tensorboard").exists()


def test_curves_are_drawn_from_the_first_epoch_on(tmp_path):
    for rows in ([row(1)], [row(1, FOUND)], [row(1), row(2, FOUND), row(3, FOUND)]):
        draw_curves(tmp_path / "curves", rows, title="synthetic, RCE", classes={1: "organ", 2: "cyst"})
        assert sorted(file.name for file in tmp_path.iterdir()) == ["curves.png", "curves.svg"]
        assert "</svg>" in (tmp_path / "curves.svg").read_text()
        pixels = np.asarray(Image.open(tmp_path / "curves.png").convert("L"))
        assert pixels.shape[1] > 1000
        assert (pixels < 128).sum() > 500
