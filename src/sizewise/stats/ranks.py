"""Adding region statistics over the processes of a distributed run, with a gradient."""

import torch
import torch.distributed as dist
from torch import Tensor


def sum_over_ranks(values: Tensor, group: dist.ProcessGroup | None = None) -> Tensor:
    """Σ over ranks of ``values``; without a running process group, ``values`` itself.

    The backward sums the incoming gradients over ranks too. Every rank holds the same loss, and DDP averages the
    parameter gradients, so the two cancel: the result is the gradient of one process with the whole batch.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return values
    group = dist.group.WORLD if group is None else group
    return _sum_over_ranks(values, group.group_name)


@torch.library.custom_op("sizewise::sum_over_ranks", mutates_args=(), schema="(Tensor values, str group) -> Tensor")
def _sum_over_ranks(values, group):  # noqa: ANN001, ANN202
    total = values.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total, group=dist.distributed_c10d._resolve_process_group(group))
    return total


@_sum_over_ranks.register_fake
def _(values, group):  # noqa: ANN001, ANN202
    return torch.empty_like(values, memory_format=torch.contiguous_format)


def _save(ctx, inputs, output) -> None:  # noqa: ANN001
    ctx.group = inputs[1]


def _backward(ctx, gradient: Tensor):  # noqa: ANN001, ANN202
    return _sum_over_ranks(gradient, ctx.group), None


_sum_over_ranks.register_autograd(_backward, setup_context=_save)
