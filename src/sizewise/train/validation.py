"""Loss and scores on the validation cases, after an epoch. Independent of the batch size: every sum is per case."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from sizewise.criterion import Loss
from sizewise.metrics.device_counts import count_channels, count_labels, values_of
from sizewise.progress import track
from sizewise.stats import RegionStats
from sizewise.stats.fields import COUNT, PIXELS
from sizewise.train.case_cells import CaseCells
from sizewise.train.inference import image_logits
from sizewise.train.preparation import UNLABELLED
from sizewise.train.store import Store


@dataclass(frozen=True)
class Validation:
    """What an epoch's validation found.

    Attributes:
        loss: the criterion over all cases.
        terms: unweighted.
        dsc: per foreground class, the mean over cases that have it or should; NaN where no case does.
        dsc_pooled: per foreground class, from pixel counts summed over cases.
        size_error: per foreground class, the mean of predicted minus true proportion.
    """

    loss: float
    terms: dict[str, float]
    dsc: tuple[float, ...]
    dsc_pooled: tuple[float, ...]
    size_error: tuple[float, ...]

    @property
    def score(self) -> float:
        """Chooses the best checkpoint: the mean of ``dsc`` over the classes."""
        values = [value for value in self.dsc if not np.isnan(value)]
        return float(np.mean(values)) if values else 0.0


class CaseSums(NamedTuple):
    """What a pass over cases finds.

    Attributes:
        sums: the criterion's, (fields, n, …).
        counts: pixels, (n, classes, 4).
        cells: the sums of each case's cells, (fields, n, cells, …); None where no term is per component.
    """

    sums: Tensor
    counts: Tensor
    cells: Tensor | None


def validate(
    fabric: Fabric,
    model: nn.Module,
    store: Store,
    criterion: Loss,
    *,
    input_scale: tuple[Tensor, Tensor],
    patch: Sequence[int],
    multiple: int,
    batch_size: int,
    first_class: int,
    cells: CaseCells | None = None,
) -> Validation:
    """Every rank takes its share of the cases; all know the result.

    ``model`` is not wrapped for DDP: that would exchange buffers in each forward pass, and wait for ranks that have
    fewer cases. They are exchanged once here, so that all ranks judge the network that rank 0 saves.
    """

    def forward(images: Tensor) -> Tensor:
        with fabric.autocast():
            return model(images)

    if fabric.world_size > 1:
        for buffer in model.buffers():
            if buffer.is_floating_point():
                torch.distributed.broadcast(buffer, 0)
    mine = range(fabric.global_rank, len(store), fabric.world_size) or range(1)
    found = case_sums(
        forward,
        store,
        criterion,
        indices=mine,
        input_scale=input_scale,
        patch=patch,
        multiple=multiple,
        batch_size=batch_size,
        device=fabric.device,
        first_class=first_class,
        what="Validating" if fabric.is_global_zero else "",
        cells=cells,
    )
    own = [None if one is None else one.cpu() for one in found]
    parts: list[tuple[list[int], Any, Any, Any]] = [(list(mine), own[0], own[1], own[2])]
    if fabric.world_size > 1:
        everyone: list[Any] = [None] * fabric.world_size
        torch.distributed.all_gather_object(everyone, parts[0])
        parts = everyone
    owners = {index: (part, place) for part, (indices, *_) in enumerate(parts) for place, index in enumerate(indices)}
    chosen = [owners[index] for index in range(len(store))]
    all_sums = torch.stack([parts[part][1][:, place] for part, place in chosen], 1)
    all_counts = torch.stack([parts[part][2][place] for part, place in chosen])
    all_cells = None
    if parts[0][3] is not None:
        all_cells = torch.stack([parts[part][3][:, place] for part, place in chosen], 1).to(fabric.device)
    return summarise(criterion, all_sums.to(fabric.device), all_counts, all_cells)


@torch.no_grad()
def case_sums(
    model: Callable[[Tensor], Tensor],
    store: Store,
    criterion: Loss,
    *,
    indices: Sequence[int],
    input_scale: tuple[Tensor, Tensor],
    patch: Sequence[int],
    multiple: int,
    batch_size: int,
    device: torch.device,
    first_class: int = 1,
    what: str = "",
    cells: CaseCells | None = None,
) -> CaseSums:
    """The criterion's sums, and per case the pixels of each scored class; see :func:`region_counts`.

    ``what`` names a progress bar; without it there is none.
    """
    sums, counts, cell_sums = [], [], []
    chunks = list(_batches(store, indices, 1 if patch else batch_size))
    for chunk in track(chunks, what=what) if what else chunks:
        images = torch.stack([store.image(i) for i in chunk]).to(device, non_blocking=True)
        labels = torch.stack([store.target(i) for i in chunk]).to(device, non_blocking=True)
        factor, offset = (one.view(1, -1, *[1] * (images.dim() - 2)) for one in input_scale)
        logits = image_logits(model, images * factor + offset, patch=patch, multiple=multiple)
        labels = labels if store.label_channels else labels[:, None]
        stats = criterion.stats(logits, labels, cells=None if cells is None else cells.of(chunk, device))
        sums.append(stats.sums)
        if cells is not None and stats.cells is not None:
            cell_sums.append(stats.cells.sums.unflatten(1, (len(chunk), cells.most)))
        counts.append(region_counts(logits, labels, sigmoid=criterion.activation == "sigmoid", first_class=first_class))
    return CaseSums(torch.cat(sums, 1), torch.cat(counts), torch.cat(cell_sums, 1) if cell_sums else None)


def region_counts(logits: Tensor, labels: Tensor, *, sigmoid: bool, first_class: int) -> Tensor:
    """(N, classes, 4) counts of pixels, of labels (N, 1, *S), or of (N, C, *S) where each channel is a problem."""
    if sigmoid:
        return count_channels(logits > 0, labels, ignore_index=UNLABELLED)
    counts = count_labels(logits.argmax(1), labels[:, 0], classes=logits.shape[1], ignore_index=UNLABELLED)
    return counts[:, first_class:]


def summarise(criterion: Loss, sums: Tensor, counts: Tensor, cells: Tensor | None = None) -> Validation:
    """Scores from the sums and the counts (n, classes, 4) of all cases; see ``metrics.policy`` for empty regions."""
    fields = tuple(dict.fromkeys((COUNT, PIXELS, *criterion.fields)))  # as every pass takes them
    stats = RegionStats(fields, sums)
    if cells is not None:
        cell_fields = tuple(dict.fromkeys((COUNT, PIXELS, *criterion.cell_fields)))
        stats = stats.with_cells(RegionStats(cell_fields, cells.flatten(1, 2)))
    terms = criterion.terms_from_stats(stats)
    return Validation(
        loss=float(criterion.total(terms)),
        terms={name: float(value) for name, value in terms.items()},
        dsc=_means(values_of("dsc", counts)),
        dsc_pooled=tuple(values_of("dsc", counts.sum(0)).tolist()),
        size_error=_means(values_of("size_error", counts)),
    )


def _means(values: Tensor) -> tuple[float, ...]:
    """Of each class, over the cases that have a value."""
    return tuple(_mean(column) for column in values.numpy().T)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _batches(store: Store, indices: Sequence[int], size: int) -> Iterable[list[int]]:
    """Neighbours of the same shape together."""
    batch: list[int] = []
    for index in indices:
        if batch and (len(batch) == size or (store.shapes[index] != store.shapes[batch[0]]).any()):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
