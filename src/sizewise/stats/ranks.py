"""Adding region statistics over the processes of a distributed run, with a gradient."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from sizewise.private_apis import process_group


def sum_over_ranks(values: Tensor, group: dist.ProcessGroup | None = None) -> Tensor:
    """Σ over ranks of ``values``; without a running process group, ``values`` itself.

    The backward sums the incoming gradients over ranks too. Every rank holds the same loss, and DDP averages the
    parameter gradients, so the two cancel: the result is the gradient of one process with the whole batch.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return values
    group = dist.group.WORLD if group is None else group
    assert group is not None
    return _sum_over_ranks(values, group.group_name)


@torch.library.custom_op("sizewise::sum_over_ranks", mutates_args=(), schema="(Tensor values, str group) -> Tensor")
def _sum_over_ranks(values: Tensor, group: str) -> Tensor:
    total = values.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total, group=process_group(group))
    return total


@_sum_over_ranks.register_fake
def _(values: Tensor, group: str) -> Tensor:
    return torch.empty_like(values, memory_format=torch.contiguous_format)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.group = inputs[1]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
    return _sum_over_ranks(gradient, ctx.group), None


_sum_over_ranks.register_autograd(_backward, setup_context=_save)
