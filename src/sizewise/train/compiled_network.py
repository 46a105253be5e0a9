"""The network under torch.compile, as a training step calls it."""

from collections.abc import Callable
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

BACKEND: Any = "inductor"  # of torch.compile


def compiled_network(fabric: Fabric, model: nn.Module, *, same_bits: bool) -> Callable[[Tensor], Any]:
    """A function from images to what ``model`` gives, in fabric's precision; it is compiled when it is first called.

    Inductor's own CUDA graphs stay off, since the whole step is captured in one.

    Args:
        fabric: of one process.
        model: the network itself. It shares its weights, and is not changed.
        same_bits: two compilations must give the same code, at a cost in speed.
    """
    torch.compiler.reset()  # what other runs of this process compiled is none of this one's concern
    options: dict[str, Any] | None = {"deterministic": True} if same_bits else None
    inner = torch.compile(model, dynamic=False, backend=BACKEND, options=options)
    precision = fabric.strategy.precision

    def network(images: Tensor) -> Any:
        with fabric.autocast():
            return precision.convert_output(inner(images))

    return network
