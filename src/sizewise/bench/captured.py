"""A loss with its forward and backward as one CUDA graph: what is left when Python costs nothing."""

from collections.abc import Callable

import torch
from torch import Tensor


class CapturedStep:
    """Forward and backward of a loss on the first input it meets, captured once and replayed from then on."""

    def __init__(self, loss: Callable[[Tensor, Tensor], Tensor], *, compiled: bool) -> None:
        self.loss = torch.compile(loss, fullgraph=True, dynamic=False) if compiled else loss
        self.graph: torch.cuda.CUDAGraph | None = None
        self.gradient: Tensor | None = None

    def replay(self, logits: Tensor, target: Tensor) -> None:
        """One step; the gradient lies in memory of the graph."""
        if self.graph is None:
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(3):
                    torch.autograd.grad(self.loss(logits, target), logits)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                (self.gradient,) = torch.autograd.grad(self.loss(logits, target), logits)
        self.graph.replay()
