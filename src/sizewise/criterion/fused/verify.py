"""A formula's kernel beside the torch code that it was written from, on random sums, before it is used.

A term of a user's own may do what nobody foresaw. The torch code runs on the CPU: dozens of operations that no GPU has
to load.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from sizewise.criterion.criterion import Criterion
from sizewise.criterion.plain_step import evaluate
from sizewise.stats.fields import COUNT, OVERLAP, SIZE, Field
from sizewise.stats.region_stats import RegionStats

if TYPE_CHECKING:
    from sizewise.criterion.fused.kernel import FormulaKernel

TOLERANCE = 1e-4
CELLS = 3


class _Evaluation(nn.Module):
    """The criterion under a parent, so that copies can be put in the place of its buffers."""

    def __init__(self, criterion: Criterion, fields: tuple[Field, ...]) -> None:
        super().__init__()
        self.criterion, self.fields = criterion, fields

    def forward(self, sums: Tensor, truth: Tensor | None, cells: RegionStats | None) -> Any:
        return evaluate(self.criterion, self.fields, sums, truth, [], True, cells)


def agrees(
    kernel: "FormulaKernel",
    criterion: Criterion,
    fields: tuple[Field, ...],
    like: Tensor,
    truth: bool,
    cell_fields: tuple[Field, ...] = (),
) -> bool:
    """Whether both give the same, for sums such as ``like``, and with size targets from elsewhere if ``truth``."""
    random = torch.Generator().manual_seed(0)
    with torch.inference_mode(False):
        sums, targets = (drawn_sums(fields, like.shape, random) for _ in range(2))
        cells, table = None, None
        if cell_fields:
            table = drawn_table(kernel, cell_fields, like, random)
            units = torch.tensor(kernel.units, dtype=torch.float64).view(-1, *[1] * (like.dim() - 1))
            cells = RegionStats(cell_fields, table[:-1] * units)
            table = table.to(like.device)
        buffers = {f"criterion.{name}": one.detach().cpu().clone() for name, one in criterion.named_buffers()}
        given = (sums, targets if truth else None, cells)
        total, values, kept = torch.func.functional_call(_Evaluation(criterion, fields), buffers, given)
    wanted = [total, kept.factors, torch.stack(values), *(kept.sums[term, field] for term, field in kernel.planes)]
    wanted += [kept.cells[term, field] for term, field in kernel.cell_planes]
    scale = torch.ones(1, dtype=torch.float64, device=like.device)
    launch = kernel.launch(like.shape[1], CELLS if cell_fields else 1)
    loss, found, on_cells = kernel(sums.to(like), targets.to(like) if truth else None, scale, launch, table=table)
    planes, factors, found_values = kernel.parts(found.cpu(), like.shape[1:])
    results = [loss.cpu(), factors, found_values, *planes, *(on_cells.cpu() if cell_fields else ())]
    return all(
        torch.allclose(one.double(), other, rtol=TOLERANCE, atol=TOLERANCE * float(other.abs().max()), equal_nan=True)
        for one, other in zip(results, wanted, strict=True)
    )


def drawn_sums(fields: tuple[Field, ...], shape: Sequence[int], random: torch.Generator) -> Tensor:
    """Random sums as pixels can have them: of a class no more is inside its region than is there, or than is predicted.

    Else P + T − I may come near 0, where what single precision leaves of it says nothing about the kernel.
    """
    sums = 1 + 50 * torch.rand(*shape, generator=random, dtype=torch.float64)
    return limited(fields, sums, random)


def limited(fields: tuple[Field, ...], sums: Tensor, random: torch.Generator) -> Tensor:
    """``sums`` with an overlap that is a random share of what it can be."""
    if OVERLAP in fields:
        others = [sums[place] for place, field in enumerate(fields) if field in (COUNT, SIZE)]
        most = torch.stack([*others, sums[fields.index(OVERLAP)]]).amin(0)
        sums[fields.index(OVERLAP)] = most * torch.rand(most.shape, generator=random, dtype=torch.float64)
    return sums


def drawn_table(
    kernel: "FormulaKernel", cell_fields: tuple[Field, ...], like: Tensor, random: torch.Generator
) -> Tensor:
    """Random sums of cells as integers; four in ten cells are none of their class."""
    shape = (len(kernel.units), like.shape[1] * CELLS, *like.shape[2:])
    sums = (50 * torch.rand(shape, generator=random, dtype=torch.float64)).round()
    sums[0] *= torch.rand(shape[1:], generator=random) < 0.6
    sums = limited(cell_fields, sums, random).round()
    units = torch.tensor(kernel.units, dtype=torch.float64).view(-1, *[1] * (like.dim() - 1))
    return torch.cat((sums / units, torch.zeros(1, *shape[1:], dtype=torch.float64))).long()
