"""A loss with its forward and backward as one CUDA graph: what is left when Python costs nothing."""

from collections.abc import Callable

import torch
from torch import Tensor

WARM_UP = 3  # calls before the capture: kernels are compiled and memory is found outside of it


def captured(loss: Callable[[Tensor, Tensor], Tensor], logits: Tensor, target: Tensor) -> Callable[[], None]:
    """A function that replays value and gradient of a loss on this input; the gradient lies in the graph's memory."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            torch.autograd.grad(loss(logits, target), logits)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.autograd.grad(loss(logits, target), logits)
    return graph.replay
