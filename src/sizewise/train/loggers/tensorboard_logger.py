"""TensorBoard. Curves are in ``tensorboard/`` of every run; this adds the settings, the final scores and the plot."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sizewise.train.history import Row
from sizewise.train.loggers.logger import LoggedRun, plain_settings


class Logger:
    """Beside the curves that a run writes anyway."""

    def begin(self, run: LoggedRun) -> None:
        """Settings and classes as text."""
        from torch.utils.tensorboard import SummaryWriter

        self.writer: Any = SummaryWriter(str(run.folder / "tensorboard" / "summary"))
        table = json.dumps(plain_settings(run.settings), indent=1, default=str)
        self.writer.add_text("settings", f"```\n{table}\n```")
        self.writer.add_text("classes", ", ".join(f"{k}: {name}" for k, name in run.classes.items()))
        self.last = 0
        self.writer.flush()

    def epoch(self, row: Row) -> None:
        """Only which one it is: the run's own event file has the values."""
        self.last = int(row["epoch"])

    def end(self, scores: Mapping[str, float], files: Sequence[Path]) -> None:
        """Scores as points at the last epoch, pictures as images."""
        from PIL import Image

        for name, value in scores.items():
            self.writer.add_scalar(f"test/{name}", value, self.last)
        for file in files:
            if file.suffix == ".png":
                with Image.open(file) as picture:
                    self.writer.add_image(file.stem, np.asarray(picture.convert("RGB")), self.last, dataformats="HWC")
        self.writer.close()
