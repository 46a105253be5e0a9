"""A formula's kernel beside the torch code that it was written from, on random sums, before it is used.

A term of a user's own may do what nobody foresaw. The torch code runs on the CPU: dozens of operations that no GPU has
to load.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from sizewise.criterion.criterion import Criterion
from sizewise.criterion.plain_step import evaluate
from sizewise.stats.fields import Field

if TYPE_CHECKING:
    from sizewise.criterion.fused.kernel import FormulaKernel

TOLERANCE = 1e-4


class _Evaluation(nn.Module):
    """The criterion under a parent, so that copies can be put in the place of its buffers."""

    def __init__(self, criterion: Criterion, fields: tuple[Field, ...]) -> None:
        super().__init__()
        self.criterion, self.fields = criterion, fields

    def forward(self, sums: Tensor, truth: Tensor | None) -> Any:
        return evaluate(self.criterion, self.fields, sums, truth, [], True)


def agrees(kernel: "FormulaKernel", criterion: Criterion, fields: tuple[Field, ...], like: Tensor, truth: bool) -> bool:
    """Whether both give the same, for sums such as ``like``, and with size targets from elsewhere if ``truth``."""
    random = torch.Generator().manual_seed(0)
    with torch.inference_mode(False):
        sums, targets = (1 + 50 * torch.rand(like.shape, generator=random, dtype=torch.float64) for _ in range(2))
        buffers = {f"criterion.{name}": one.detach().cpu().clone() for name, one in criterion.named_buffers()}
        given = (sums, targets if truth else None)
        total, values, kept = torch.func.functional_call(_Evaluation(criterion, fields), buffers, given)
    wanted = [total, kept.factors, torch.stack(values), *(kept.sums[term, field] for term, field in kernel.planes)]
    scale = torch.ones(1, dtype=torch.float64, device=like.device)
    loss, found = kernel(sums.to(like), targets.to(like) if truth else None, scale, kernel.launch(like.shape[1]))
    planes, factors, found_values = kernel.parts(found.cpu(), like.shape[1:])
    return all(
        torch.allclose(one.double(), other, rtol=TOLERANCE, atol=TOLERANCE * float(other.abs().max()), equal_nan=True)
        for one, other in zip((loss.cpu(), factors, found_values, *planes), wanted, strict=True)
    )
