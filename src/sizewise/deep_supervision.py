"""A loss on the outputs of several resolutions, whose size targets stay those of the full one."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sizewise.checks import check_number
from sizewise.criterion.cell_stats import cells_for
from sizewise.criterion.criterion import Criterion
from sizewise.criterion.step import Taken, take_step
from sizewise.criterion.term_values import TermValues
from sizewise.stats.cells import Cells
from sizewise.stats.inputs import plain
from sizewise.stats.nearest import nearest
from sizewise.stats.region_stats import RegionStats


class DeepSupervision(nn.Module):
    """Σ_l w_l · criterion(logits_l, target_l), for outputs from the full resolution (l = 0) downwards.

    A label map that is sampled down has other proportions, and small regions vanish from it. Terms that match it pixel
    by pixel use it as it is; size terms aim at the proportions of the full resolution at every level. With a criterion
    that has ``upsample``, nothing is sampled down: the logits of every level are interpolated to the target's size.

    Args:
        criterion: what each level's loss is.
        weights: one weight >= 0 per level; default 1, 1/2, 1/4, … They are normalised to sum to 1, and a level of
            weight 0 costs nothing.

    >>> import torch, sizewise as sw
    >>> criterion = sw.DeepSupervision(sw.loss("RCE"))
    >>> outputs = [torch.randn(1, 2, 16, 16), torch.randn(1, 2, 8, 8)]
    >>> loss = criterion(outputs, torch.randint(0, 2, (1, 16, 16)))
    """

    def __init__(self, criterion: Criterion, *, weights: Sequence[float] | None = None) -> None:
        super().__init__()
        if not isinstance(criterion, Criterion):
            raise TypeError(f"DeepSupervision: criterion must be a sizewise loss, got {type(criterion).__name__}.")
        self.criterion = criterion
        self.weights = None
        if weights is not None:
            if not isinstance(weights, Iterable):
                raise TypeError(f"DeepSupervision: weights must be a list, one per level, got {weights!r}.")
            self.weights = [check_number("DeepSupervision", "weights", weight, minimum=0) for weight in weights]
            if not sum(self.weights) > 0:
                raise ValueError(f"DeepSupervision: at least one weight must be above 0, got {list(weights)}.")

    def forward(self, outputs: Sequence[Tensor], target: Any, mask: Any = None, *, cells: Any = None) -> Tensor:
        """The weighted loss of all levels; arguments as for :meth:`terms`."""
        totals = [taken.total for taken in self._levels(outputs, target, mask, cells, separate=False)]
        return sum(totals[1:], totals[0])

    def terms(
        self, outputs: Sequence[Tensor], target: Any, mask: Any = None, *, cells: Any = None
    ) -> dict[str, Tensor]:
        """Each term's value, averaged over the levels with their weights.

        Args:
            outputs: logits of each level, the full resolution first.
            target: the full-resolution target, sampled down here to the nearest pixel, or a list with one per level.
            mask: likewise.
            cells: those of the full resolution, for component-wise terms; they are found there if they are not given.
                The other levels sample them, so that a component stays one; where none of its pixels is left, it has
                no value.
        """
        levels = self._levels(outputs, target, mask, cells, separate=True)
        values = {
            name: sum((level.terms[name] for level in levels[1:]), value) for name, value in levels[0].terms.items()
        }
        totals = [level.total for level in levels]
        if torch.compiler.is_compiling():
            return values
        return TermValues(values, sum(totals[1:], totals[0]), self.criterion.lambdas)

    def _levels(self, outputs: Sequence[Tensor], target: Any, mask: Any, cells: Any, *, separate: bool) -> list[Taken]:
        """The step of each level that has a weight, with that weight in its values."""
        if isinstance(outputs, Tensor):
            outputs = [outputs]
        if not isinstance(outputs, Sequence):
            raise TypeError(
                f"DeepSupervision: outputs must be a list with the logits of each level, got {type(outputs).__name__}."
            )
        weights = self._level_weights(len(outputs))
        at_full = self.criterion.upsample is not None
        targets, masks = per_level("target", target, outputs, at_full), per_level("mask", mask, outputs, at_full)
        full = self._full_cells(outputs[0], targets[0], masks[0], cells)
        taken: list[Taken] = []
        truth: RegionStats | None = None
        if weights[0] == 0:  # the full resolution is read for its proportions alone
            with torch.no_grad():
                truth = self.criterion.image_stats(outputs[0], targets[0], masks[0])
        for output, level_target, level_mask, weight in zip(outputs, targets, masks, weights, strict=True):
            if weight > 0:
                step = take_step(
                    self.criterion,
                    output,
                    level_target,
                    level_mask,
                    separate=separate,
                    truth=truth,
                    scale=weight,
                    cells=full if full is None or at_full else full.resampled(output.shape[2:]),
                )
                taken.append(step)
                truth = step.stats.detach() if truth is None else truth
        return taken

    def _full_cells(self, output: Tensor, target: Any, mask: Any, cells: Any) -> Cells | None:
        """The cells at full resolution, where some term is per component."""
        criterion = self.criterion
        if not criterion.cell_fields:
            return None
        if criterion.upsample is not None and cells is not None:
            return cells  # every level is compared with them as they are
        given = criterion.snapshot().prepare(output, target, mask)
        return cells_for(criterion, *given, cells)

    def _level_weights(self, levels: int) -> list[float]:
        if levels == 0:
            raise ValueError("DeepSupervision: outputs must hold the logits of at least one level, got none.")
        if self.weights is not None and len(self.weights) != levels:
            raise ValueError(
                f"DeepSupervision: there are {len(self.weights)} weights for {levels} levels; give one per level."
            )
        weights = [0.5**level for level in range(levels)] if self.weights is None else self.weights
        return [weight / sum(weights) for weight in weights]

    def extra_repr(self) -> str:
        return f"weights={self.weights or '1, 1/2, 1/4, …'}"


def per_level(argument: str, given: Any, outputs: Sequence[Tensor], full: bool) -> list[Any]:
    """One target or mask per level: where one was given, sampled down, or with ``full`` as it is."""
    if isinstance(given, (list, tuple)):
        if len(given) != len(outputs):
            raise ValueError(
                f"DeepSupervision: {argument} must be one tensor or one per level, got {len(given)} for "
                f"{len(outputs)} levels."
            )
        return list(given)
    if given is None:
        return [None] * len(outputs)
    given = plain("DeepSupervision", argument, given)
    return [given if full else nearest(given, output.shape[2:]) for output in outputs]
