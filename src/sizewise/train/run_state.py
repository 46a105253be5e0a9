"""Where a run stands: what it needs to go on after a kill, and the weights that were best so far."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from lightning_fabric.plugins import Precision
from torch import Tensor, nn

from sizewise.criterion import Loss
from sizewise.errors import BadInput
from sizewise.json_files import check_kinds
from sizewise.train.checkpoint import load_checkpoint, save_checkpoint
from sizewise.train.history import Row
from sizewise.train.run_folder import settings_hash
from sizewise.train.schedule import Schedule
from sizewise.train.validation import Validation
from sizewise.train.weight_average import WeightAverage

KINDS = {  # of what a state holds
    "model": dict,
    "optimizer": dict,
    "epoch": int,
    "rows": list,
    "best_score": float,
    "best_loss": float,
    "best_epoch": int,
}


@dataclass
class Progress:
    """How far a run has come; ``since_best`` counts the validations since the best one."""

    epoch: int = 0
    rows: list[Row] = field(default_factory=list)
    best_score: float = float("-inf")
    best_loss: float = float("inf")
    best_epoch: int = 0
    since_best: int = 0

    def improved_by(self, found: Validation) -> bool:
        """A higher score; or the same (0 while nothing is found yet) with a lower loss."""
        return (found.score, -found.loss) > (self.best_score, -self.best_loss)


@dataclass
class RunState:
    """The network, its optimizer and schedule, and the progress; ``best`` are weights that wait to be written.

    ``average`` is that of the weights, where the settings ask for one; ``precision`` holds the scale of the loss;
    ``compiled`` says whether training runs the network compiled, and ``upsample`` what the loss does in place of the
    network's head: both round differently. ``criterion`` is the loss, whose terms may learn as they go: a multiplier, a
    running mean.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: Schedule
    progress: Progress = field(default_factory=Progress)
    best: dict[str, Tensor] | None = None
    average: WeightAverage | None = None
    precision: Precision | None = None
    compiled: bool = False
    upsample: str | None = None
    criterion: Loss | None = None

    @property
    def judged(self) -> nn.Module:
        """The network that is validated, and kept where it is best."""
        return self.model if self.average is None else self.average.model

    def judge(self, found: Validation | None, *, last: bool, validated: bool) -> None:
        """Keep the weights where validation finds them better, or at the end where there is no validation."""
        progress = self.progress
        if found is not None and progress.improved_by(found):
            progress.best_score, progress.best_loss, progress.since_best = found.score, found.loss, 0
        elif validated or not last:
            progress.since_best += found is not None
            return
        else:
            progress.best_score = 0.0
        progress.best_epoch = progress.epoch
        self.best = {name: value.detach().clone() for name, value in self.judged.state_dict().items()}

    def save(self, folder: Path) -> None:
        """The best weights first: the state that names them must not be newer than they are."""
        config = {"config": settings_hash(folder)}
        progress = self.progress
        if self.best is not None:
            content = {"model": self.best, "epoch": progress.best_epoch, "score": progress.best_score}
            save_checkpoint(folder / "best.pt", content | config)
            self.best = None
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state(),
            "compiled": self.compiled,
            "upsample": self.upsample,
        }
        if self.average is not None:
            state["average"] = self.average.state()
        if self.precision is not None and (scale := self.precision.state_dict()):
            state["scale"] = scale
        if self.criterion is not None and (terms := self.criterion.parts.state_dict()):
            state["terms"] = terms  # without λ, which the settings have, and a ramp sets in every step
        save_checkpoint(folder / "last.pt", state | {**vars(progress)} | config)

    def restore(self, saved: dict[str, Any]) -> None:
        """Take over what :meth:`save` wrote."""
        self.model.load_state_dict(saved["model"])
        own = [{name: value for name, value in g.items() if name != "params"} for g in self.optimizer.param_groups]
        self.optimizer.load_state_dict(saved["optimizer"])
        for group, settings in zip(self.optimizer.param_groups, own, strict=True):
            group.pop("rate_set", None)
            group.update(settings)  # the saved ones may belong to another device
        self.schedule.restore(saved["schedule"])
        if self.average is not None:
            self.average.restore(saved["average"])
        if self.precision is not None and "scale" in saved:
            self.precision.load_state_dict(saved["scale"])
        if self.criterion is not None and "terms" in saved:
            self.criterion.parts.load_state_dict(saved["terms"])
        self.compiled = saved.get("compiled", False)  # runs of earlier versions were not
        self.progress = read_progress(saved)


def read_progress(saved: dict[str, Any]) -> Progress:
    """What :meth:`RunState.save` wrote of it; earlier versions counted less."""
    return Progress(**{name: saved[name] for name in asdict(Progress()) if name in saved or name != "since_best"})


def load_state(folder: Path) -> dict[str, Any] | None:
    """What a run saved last; None where it has saved nothing.

    The best weights are looked at too, though they are needed only at the end: damaged, they are those of the state
    where its epoch was the best one, and else the run says so now, not after the rest of its training.
    """
    path, best = folder / "last.pt", folder / "best.pt"
    if not path.exists():
        return None
    run = settings_hash(folder)
    saved = load_checkpoint(path, run=run)
    check_kinds(saved, KINDS, path)
    if saved["best_epoch"]:
        try:
            load_checkpoint(best, run=run)
        except BadInput:
            if saved["best_epoch"] != saved["epoch"]:
                raise
            content = {"model": saved["model"], "epoch": saved["epoch"], "score": saved["best_score"], "config": run}
            save_checkpoint(best, content)
    return saved
