"""Which torch operations a formula and its derivative consist of."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from sizewise.stats.fields import Field
from sizewise.stats.region_stats import RegionStats

Formula = Callable[[RegionStats], Tensor]


class Operation(NamedTuple):
    """One call, as ``aten.add.Tensor``, with its arguments by position and by name, and what came out."""

    name: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    result: Any


class Recorder(TorchDispatchMode):
    """Notes every operation below autograd; so the operations of a backward are among them."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Operation] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.operations.append(Operation(str(func), args, kwargs or {}, result))
        return result


class Recording(NamedTuple):
    """The operations that lead from ``sums`` to ``value`` and ``coefficients``, all of whose tensors are alive."""

    sums: Tensor
    operations: list[Operation]
    value: Tensor
    coefficients: Tensor


def record(formula: Formula, fields: tuple[Field, ...], sums: Tensor) -> Recording:
    """Run the formula on ``sums``; whatever it does besides torch operations is fixed by that."""
    with Recorder() as recorder:
        value, coefficients = value_and_coefficients(formula, fields, sums)
    return Recording(sums, recorder.operations, value, coefficients)


def value_and_coefficients(formula: Formula, fields: tuple[Field, ...], sums: Tensor) -> tuple[Tensor, Tensor]:
    """L and ∂L/∂sums, by a graph of its own, which hooks on the caller's (as of checkpointing) must not see."""
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(_same, _same):
        leaf = sums.detach().requires_grad_()
        value = formula(RegionStats(fields, leaf))
        (coefficients,) = torch.autograd.grad(value, leaf)
    return value.detach(), coefficients


def _same(tensor: Tensor) -> Tensor:
    return tensor
