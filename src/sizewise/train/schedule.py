"""Learning rates: a table for the coming epoch, one entry a step."""

from dataclasses import dataclass
from typing import Any

from sizewise.train.config import RunConfig


@dataclass
class Schedule:
    """What the plateau rule remembers; the polynomials remember nothing.

    The paper: halved if the validation loss has not fallen for 5 epochs. Counted as torch's ReduceLROnPlateau counts
    its patience: the sixth validation in a row without a new lowest loss halves the rate.

    >>> schedule = Schedule(RunConfig(data="synthetic", schedule="plateau", patience=1, learning_rate=1.0))
    >>> for loss in (3.0, 2.0, 2.5, 2.4, 1.0):
    ...     schedule.after_validation(loss)
    >>> schedule.rates(epoch=6, steps=2)
    [0.5, 0.5]
    """

    config: RunConfig
    best_loss: float = float("inf")
    waited: int = 0
    factor: float = 1.0

    def rates(self, *, epoch: int, steps: int) -> list[float]:
        """The rate of each step of ``epoch``, counted from 1."""
        config = self.config
        if config.schedule in ("constant", "plateau"):
            return [config.learning_rate * self.factor] * steps
        done = [(epoch - 1) + (step / steps if config.schedule == "poly-step" else 0) for step in range(steps)]
        low, span = config.minimum_learning_rate, config.learning_rate - config.minimum_learning_rate
        return [low + span * (1 - one / config.epochs) ** config.power for one in done]

    def after_validation(self, loss: float) -> None:
        """Count validations without a new lowest loss, and halve at one more than ``patience`` of them in a row."""
        if self.config.schedule != "plateau":
            return
        if loss < self.best_loss:
            self.best_loss, self.waited = loss, 0
            return
        self.waited += 1
        if self.waited > self.config.patience:
            self.factor, self.waited = self.factor / 2, 0

    def state(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {"best_loss": self.best_loss, "waited": self.waited, "factor": self.factor}

    def restore(self, state: dict[str, Any]) -> None:
        """From the checkpoint."""
        self.best_loss, self.waited, self.factor = state["best_loss"], state["waited"], state["factor"]
