"""An exponential moving average of the weights: what is validated, kept as the best, and predicted with."""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

WARM_UP = 10.0  # decay after n updates is at most (1 + n) / (WARM_UP + n): the first weights are soon forgotten


class WeightAverage:
    """average ← d · average + (1 − d) · weights after each update, d = min(decay, (1 + n) / (10 + n)).

    Buffers, as the statistics of batch norm, are those of the trained network. n is a tensor on the device: a captured
    step counts too.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> average = WeightAverage(model, decay=0.5)
    >>> before = model.weight.detach().clone()
    >>> with torch.no_grad():
    ...     _ = model.weight.add_(1.0)
    >>> average.update()
    >>> torch.allclose(average.model.weight, 2 / 11 * before + 9 / 11 * model.weight)
    True
    """

    def __init__(self, model: nn.Module, *, decay: float) -> None:
        self.source, self.decay = model, decay
        self.model = deepcopy(model).eval().requires_grad_(False)
        self.updates = torch.zeros((), dtype=torch.float64, device=next(model.parameters()).device)

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights as they are now."""
        self.updates += 1
        decay = torch.clamp((1 + self.updates) / (WARM_UP + self.updates), max=self.decay)
        for mine, theirs in zip(self.model.parameters(), self.source.parameters(), strict=True):
            mine.lerp_(theirs, (1 - decay).to(mine.dtype))
        for kept, buffer in zip(self.model.buffers(), self.source.buffers(), strict=True):
            kept.copy_(buffer)

    def tensors(self) -> list[Tensor]:
        """Every tensor that an update changes."""
        return [*self.model.parameters(), *self.model.buffers(), self.updates]

    def state(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {"model": self.model.state_dict(), "updates": float(self.updates)}

    def restore(self, state: dict[str, Any]) -> None:
        """From the checkpoint."""
        self.model.load_state_dict(state["model"])
        self.updates.fill_(state["updates"])
