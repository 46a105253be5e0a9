"""The sums of cells for a criterion with component-wise terms, and the cells themselves where they are not given."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sizewise.private_apis import in_torch_func
from sizewise.stats.cell_operator import add_cell_gradient, cell_gradient, cell_sums, takes_cell_kernels
from sizewise.stats.cells import Cells, find_cells, prepare_cells
from sizewise.stats.inputs import full_size_logits, prepare
from sizewise.stats.operator import region_gradient
from sizewise.stats.region_stats import RegionStats
from sizewise.stats.take_stats import take_cell_stats

if TYPE_CHECKING:
    from sizewise.criterion.criterion import Criterion
    from sizewise.criterion.snapshot import Snapshot


def cells_for(criterion: "Criterion", logits: Tensor, target: Tensor, mask: Tensor | None, cells: Any) -> Cells:
    """The given cells, or those of the target; logits, target and mask as the operator takes them."""
    sigmoid = criterion.activation == "sigmoid"
    classes = criterion.cell_classes(logits.shape[1], sigmoid)
    if cells is not None:
        given = prepare_cells(criterion.label, cells, logits)
        _check_sought(criterion.label, classes, given.classes)
        return given
    channels = sigmoid or target.dtype.is_floating_point
    return _found(target, mask, classes, criterion.ignore_index, channels)


def _check_sought(where: str, wanted: Sequence[int], sought: Sequence[int]) -> None:
    """Raise where components of a class were never looked for: it would silently drop out of the mean.

    ``components(labels)`` looks up to the highest label, above which a class has no component.
    """
    if any(k not in sought and k < max(sought, default=1) for k in wanted):
        raise ValueError(
            f"{where}: cells are of the classes {list(sought)}, but this loss looks at {list(wanted)}. Use "
            f"sizewise.components(target, classes={list(wanted)}), or give the term the classes of the cells."
        )


def _found(*given: Any) -> Cells:
    """scipy looks at values, which a compiler does not have: without given cells the graph ends before this."""
    return torch.compiler.disable(find_cells)(*given) if torch.compiler.is_compiling() else find_cells(*given)


def stats_with_cells(
    criterion: "Criterion", logits: Tensor, target: Tensor, mask: Tensor | None, cells: Any
) -> RegionStats:
    """The sums of each image, and with them those of each cell, as single operations with a gradient."""
    if not torch.compiler.is_compiling() and in_torch_func():
        raise RuntimeError(
            f"{criterion.label}: component-wise terms do not run under the transforms of torch.func. Call the loss on "
            "each sample, or use a loss without them."
        )
    if criterion.upsample is not None:
        logits = full_size_logits(criterion.label, logits, target, criterion.upsample)
    given = prepare(criterion.label, logits, target, mask, criterion.ignore_index, criterion.activation)
    own = take_cell_stats(
        criterion.label,
        logits,
        target,
        mask,
        cells_for(criterion, *given, cells),
        ignore_index=criterion.ignore_index,
        activation=criterion.activation,
        fields=criterion.cell_fields,
    )
    return criterion.image_stats(logits, target, mask).with_cells(own)


class CellPass:
    """Both passes over the cells of one step."""

    def __init__(self, snapshot: "Snapshot", cells: Cells) -> None:
        self.snapshot = snapshot
        self.options = (cells.maps, cells.classes, cells.most, *snapshot.cell_reading)

    def stats(self, logits: Tensor, target: Tensor, mask: Tensor | None) -> RegionStats:
        """The sums."""
        with torch.no_grad():
            return RegionStats(self.snapshot.cell_fields, cell_sums(logits, target, mask, *self.options))

    def gradient(
        self, on_images: Tensor, on_cells: Tensor, logits: Tensor, target: Tensor, mask: Tensor | None
    ) -> Tensor:
        """The gradient of the sums of images and of cells together."""
        maps, classes, most, _, sigmoid, kinds, _ = self.options
        if not torch.is_grad_enabled() and takes_cell_kernels(logits, maps, classes, most, sigmoid, kinds):
            gradient = region_gradient(on_images, logits, target, mask, *self.snapshot.reading)
            add_cell_gradient(gradient, on_cells, logits, target, mask, *self.options)  # in place: no second gradient
            return gradient
        # rounded once, however low the precision
        wide = logits if logits.dtype.itemsize > 2 else logits.float()
        gradient = region_gradient(on_images, wide, target, mask, *self.snapshot.reading)
        gradient.add_(cell_gradient(on_cells.contiguous(), wide, target, mask, *self.options))
        return gradient.to(logits.dtype)
