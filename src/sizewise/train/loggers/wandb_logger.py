"""Weights & Biases, which takes its own settings: ``WANDB_PROJECT``, ``WANDB_ENTITY``, ``WANDB_MODE=offline``."""

import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sizewise.errors import import_extra
from sizewise.train.history import Row
from sizewise.train.loggers.logger import LoggedRun, known_as, plain_settings

PROJECT = "sizewise"


class Logger:
    """One W&B run for each run, which a resumed one continues; curves over epochs, files as an artifact."""

    def begin(self, run: LoggedRun) -> None:
        """Open the run under the name that it has in its folder."""
        self.wandb: Any = import_extra("wandb", extra="wandb", reason="logging to Weights & Biases")
        name = known_as(run.folder, "wandb", lambda: uuid.uuid4().hex[:8])
        offline = os.environ.get("WANDB_MODE", "online") != "online"
        self.run = self.wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.name,
            id=name,
            resume=None if offline else "allow",  # offline there is nothing to ask
            dir=str(run.folder),
            config=plain_settings(run.settings) | {"classes": {str(k): name for k, name in run.classes.items()}},
            settings=self.wandb.Settings(silent=True, console="off"),
        )
        self.run.define_metric("epoch")
        self.run.define_metric("*", step_metric="epoch")  # a resumed run may repeat epochs, which a step may not

    def epoch(self, row: Row) -> None:
        """One point of each curve, as train/loss and val/dsc_1."""
        self.run.log({name.replace("_", "/", 1) if "_" in name else name: value for name, value in row.items()})

    def end(self, scores: Mapping[str, float], files: Sequence[Path]) -> None:
        """Scores to the summary, files to one artifact."""
        self.run.summary.update({f"test/{name}": value for name, value in scores.items()})
        if files:
            artifact = self.wandb.Artifact(f"run-{self.run.id}", type="report")
            for file in files:
                artifact.add_file(str(file))
            self.run.log_artifact(artifact)
        self.run.finish()
