"""The step in plain torch: the operator for both passes, and the formula as its terms have it, with autograd's help."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from sizewise.criterion.cell_stats import CellPass, cells_for
from sizewise.stats.operator import region_gradient, region_sums
from sizewise.stats.ranks import sum_over_ranks
from sizewise.stats.region_stats import RegionStats

if TYPE_CHECKING:
    from sizewise.criterion.criterion import Criterion
    from sizewise.criterion.snapshot import Snapshot


class Derivatives(NamedTuple):
    """What is kept of a formula.

    Attributes:
        factors: ∂L/∂term, (T,).
        sums: ∂term/∂sums, (T, fields, N, K).
        whole: ∂term/∂(sums over the batches of all ranks), (T, fields, 1, K); None where no term has that scope.
        learned: ∂(L, each term)/∂(what is learned): a row for L, then one for each term; None for 0.
        cells: ∂term/∂(sums of cells), (T, fields, rows, K); None where no term has them.
    """

    factors: Tensor
    sums: Tensor
    whole: Tensor | None
    learned: list[list[Tensor | None]]
    cells: Tensor | None = None

    def coefficients(self, on_terms: Tensor) -> Tensor:
        """∂(final loss)/∂sums, (fields, N, K), from ∂(final loss)/∂term; where a term pools over ranks, they meet."""
        result = weighted(on_terms, self.sums)
        return result if self.whole is None else result + sum_over_ranks(weighted(on_terms, self.whole))


class PlainStep:
    """Forward and backward of a step for any input and any criterion; see :class:`sizewise.criterion.step.Backend`."""

    def __init__(self, snapshot: "Snapshot", criterion: "Criterion", cells: Any = None) -> None:
        self.snapshot, self.criterion, self.cells = snapshot, criterion, cells
        self.cell_stats: RegionStats | None = None

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        truth: Tensor | None,
        scale: float,
        learned: Sequence[Tensor],
        derive: bool,
    ) -> tuple[Tensor, Any, Tensor, tuple[Tensor | None, ...], Any]:
        """See :class:`sizewise.criterion.step.Backend`."""
        snapshot = self.snapshot
        given = snapshot.prepare(logits, target, mask)
        with torch.no_grad():
            sums = region_sums(*given, *snapshot.reading)
        if snapshot.has_cells:
            self.cells = cells_for(self.criterion, *given, self.cells)
            self.cell_stats = CellPass(snapshot, self.cells).stats(*given)
        total, values, kept = evaluate(self.criterion, snapshot.fields, sums, truth, learned, derive, self.cell_stats)
        if scale != 1:
            total, values = scale * total, [scale * value for value in values]
            if kept is not None:
                rows = [[None if one is None else scale * one for one in row] for row in kept.learned]
                whole = None if kept.whole is None else scale * kept.whole
                on_cells = None if kept.cells is None else scale * kept.cells
                kept = Derivatives(kept.factors, scale * kept.sums, whole, rows, on_cells)
        return total, values, sums, given, kept

    def backward(
        self, kept: Derivatives, saved: tuple[Any, ...], upstream: Sequence[Tensor | None], wants_logits: bool
    ) -> tuple[Tensor | None, Sequence[Tensor | None]]:
        """See :class:`sizewise.criterion.step.Backend`."""
        gradient = None
        if wants_logits:
            on_terms = per_term(kept.factors, upstream)
            coefficients = kept.coefficients(on_terms)
            if kept.cells is None:
                gradient = region_gradient(coefficients, *saved, *self.snapshot.reading)
            else:
                on_cells = weighted(on_terms, kept.cells)
                gradient = CellPass(self.snapshot, self.cells).gradient(coefficients, on_cells, *saved)
        learned: list[Tensor | None] = []
        for column in zip(*kept.learned, strict=True):  # L first, then each term
            parts = [g * one for g, one in zip(upstream, column, strict=False) if g is not None and one is not None]
            learned.append(sum(parts[1:], parts[0]) if parts else None)
        return gradient, learned


def per_term(factors: Tensor, upstream: Sequence[Tensor | None]) -> Tensor:
    """∂(final loss)/∂term, (T,), from ∂L/∂term and what arrives at L and at each value."""
    total, *values = upstream
    result = torch.zeros_like(factors) if total is None else factors * total
    for place, gradient in enumerate(values):
        if gradient is not None:
            result[place] += gradient
    return result


def weighted(on_terms: Tensor, rows: Tensor) -> Tensor:
    """Σ_t on_terms_t · rows_t. Not a matrix product, which a user may have allowed to round to bfloat16."""
    return (on_terms.view(-1, *[1] * (rows.dim() - 1)) * rows).sum(0)


def evaluate(
    criterion: "Criterion",
    fields: tuple[Any, ...],
    sums: Tensor,
    truth: Tensor | None,
    learned: Sequence[Tensor],
    derive: bool,
    cells: RegionStats | None = None,
) -> tuple[Tensor, list[Tensor], Derivatives | None]:
    """L, each term's value and, where ``derive`` asks for it, what backward needs."""
    targets = None if truth is None else RegionStats(fields, truth)
    with torch.set_grad_enabled(derive), unseen_by_hooks():
        leaf = sums.detach().requires_grad_(derive)
        stats, inputs = RegionStats(fields, leaf, targets), [leaf]
        if "global" in criterion.scopes and dist.is_available() and dist.is_initialized():
            pooled = stats.detach().scoped("global")
            whole = pooled.sums.detach().requires_grad_(derive)
            stats.set_scoped("global", RegionStats(fields, whole, pooled.size_truth))
            inputs.append(whole)
        if cells is not None:
            cell_leaf = cells.sums.detach().requires_grad_(derive)
            stats, inputs = stats.with_cells(RegionStats(cells.fields, cell_leaf)), [*inputs, cell_leaf]
        terms = criterion.terms_from_stats(stats)
        total, values = criterion.total(terms), list(terms.values())
        if not derive:
            return total, values, None
        factors = [_or_zero(one, total) for one in derivatives(total, values)]
        rows = [derivatives(value, [*inputs, *learned]) for value in values]
        on_learned = [derivatives(total, learned), *(row[len(inputs) :] for row in rows)]
    planes = [torch.stack([_or_zero(row[place], one) for row in rows]) for place, one in enumerate(inputs)]
    on_cells = None if cells is None else planes.pop()
    kept = Derivatives(torch.stack(factors), planes[0], planes[1] if len(planes) > 1 else None, on_learned, on_cells)
    return total.detach(), [value.detach() for value in values], kept


def derivatives(value: Tensor, inputs: Sequence[Tensor]) -> list[Tensor | None]:
    """∂value/∂input for each input; None where it is 0. The graph stays for the next."""
    if not value.requires_grad or not inputs:
        return [None] * len(inputs)
    return list(torch.autograd.grad(value, list(inputs), retain_graph=True, allow_unused=True))


def _or_zero(derivative: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if derivative is None else derivative.to(like.dtype)


def unseen_by_hooks() -> AbstractContextManager:
    """For a graph of its own, which hooks on the caller's (as of checkpointing) must not see."""
    return torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)
