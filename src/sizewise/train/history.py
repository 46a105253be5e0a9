"""The history of a run: one row per epoch, as CSV, in TensorBoard, and as a line on the screen."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizewise.checksums import check_intact, forget
from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.wording import clock

if TYPE_CHECKING:  # reports read histories without torch
    from sizewise.train.validation import Validation

Row = dict[str, float]


def epoch_row(
    *,
    epoch: int,
    learning_rate: float,
    train: dict[str, float],
    validation: "Validation | None",
    first_class: int,
    steps: int,
    train_seconds: float,
    seconds: float,
) -> Row:
    """All that is known after an epoch. Names end in the class id where they belong to a class."""
    row: Row = {"epoch": epoch, "learning_rate": learning_rate}
    row |= {f"train_{name}": value for name, value in train.items()}
    if validation is not None:
        row |= {"val_loss": validation.loss, "val_dsc": validation.score}
        row |= {f"val_{name}": value for name, value in validation.terms.items()}
        for number, values in enumerate(
            zip(validation.dsc, validation.dsc_pooled, validation.size_error, strict=True), start=first_class
        ):
            names = (f"val_dsc_{number}", f"val_dsc_pooled_{number}", f"val_size_error_{number}")
            row |= dict(zip(names, values, strict=True))
    return row | {"steps": steps, "train_seconds": train_seconds, "seconds": seconds}


def write_history(path: Path, rows: Sequence[Row]) -> None:
    """All rows; an epoch that was not validated has empty cells."""
    columns = list(dict.fromkeys(name for row in sorted(rows, key=len, reverse=True) for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    forget(path)  # of a run that was complete, and begins again
    write_whole(path, text.getvalue())


def read_history(path: Path) -> list[Row]:
    """The rows of a history.csv, without its empty cells; raises BadInput where it is not one."""
    check_intact(path, hint="Copy it again; removed, the report goes without its curves.")
    try:
        text = path.read_bytes().decode("utf-8")
        if not text.endswith("\n"):
            raise ValueError("it ends in the middle of a line")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        read = [{name: float(value) for name, value in row.items() if value not in ("", None)} for row in rows]
        if not all("epoch" in row for row in read):
            raise ValueError("a row has no epoch")
    except (OSError, TypeError, ValueError, csv.Error) as error:
        raise BadInput(f"'{path}' cannot be read as a history of epochs: {error}.") from error
    return read


def epoch_line(row: Row, *, epochs: int, seconds_left: float) -> str:
    """One line for the screen.

    >>> epoch_line({"epoch": 3, "train_loss": 0.5, "learning_rate": 0.001, "seconds": 2.0}, epochs=10, seconds_left=75)
    'epoch  3/10  loss 0.5000  lr 0.001  2.0 s  1:15 left'
    """
    parts = [f"epoch {int(row['epoch']):>{len(str(epochs))}}/{epochs}", f"loss {row['train_loss']:.4f}"]
    if "val_loss" in row:
        parts += [f"val loss {row['val_loss']:.4f}", f"val DSC {100 * row['val_dsc']:.2f} %"]
    parts += [f"lr {row['learning_rate']:.3g}", f"{row['seconds']:.1f} s", f"{clock(seconds_left)} left"]
    return "  ".join(parts)


class Board:
    """TensorBoard's event file. Epochs that a resumed run repeats replace the old ones.

    It begins with the first epoch: its thread writes when it gets to it, maybe into the folder of a run that is refused
    before, and gone.
    """

    def __init__(self, folder: Path, *, first_epoch: int) -> None:
        self.folder, self.first_epoch = folder, first_epoch
        self.writer: Any = None

    def add(self, row: Row) -> None:
        """Add one epoch."""
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(self.folder), purge_step=self.first_epoch)
        for name, value in row.items():
            if name != "epoch" and math.isfinite(value):
                self.writer.add_scalar(name.replace("_", "/", 1), value, int(row["epoch"]))
        self.writer.flush()  # a run that is killed has shown what it had

    def close(self) -> None:
        """Write what is waiting."""
        if self.writer is not None:
            self.writer.close()


def _cell(value: float) -> str:
    return "" if isinstance(value, float) and math.isnan(value) else repr(value)
