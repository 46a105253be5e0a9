"""Loss and scores on the validation cases, after an epoch. Independent of the batch size: every sum is per case."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sizewise.criterion import Loss
from sizewise.progress import track
from sizewise.stats import RegionStats
from sizewise.stats.fields import COUNT, PIXELS
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
    what: str = "",
) -> tuple[Tensor, Tensor]:
    """The criterion's sums (fields, n, …), and per case the pixels that :func:`region_counts` counts.

    ``what`` names a progress bar; without it there is none.
    """
    sums, counts = [], []
    chunks = list(_batches(store, indices, 1 if patch else batch_size))
    for chunk in track(chunks, what=what) if what else chunks:
        images = torch.stack([store.image(i) for i in chunk]).to(device, non_blocking=True)
        labels = torch.stack([store.target(i) for i in chunk]).to(device, non_blocking=True)
        factor, offset = (one.view(1, -1, *[1] * (images.dim() - 2)) for one in input_scale)
        logits = image_logits(model, images * factor + offset, patch=patch, multiple=multiple)
        labels = labels if store.label_channels else labels[:, None]
        sums.append(criterion.stats(logits, labels).sums)
        counts.append(region_counts(logits, labels, sigmoid=criterion.activation == "sigmoid"))
    return torch.cat(sums, 1), torch.cat(counts)


def region_counts(logits: Tensor, labels: Tensor, *, sigmoid: bool) -> Tensor:
    """(N, 4, foreground classes): pixels predicted, true, in common, and valid."""
    counted = []
    predicted = (logits > 0) if sigmoid else logits.argmax(1, keepdim=True)
    for k in range(logits.shape[1] if sigmoid else logits.shape[1] - 1):
        channel = labels[:, k : k + 1] if sigmoid and labels.shape[1] > 1 else labels
        valid = channel != UNLABELLED
        here = (predicted[:, k : k + 1] if sigmoid else predicted == k + 1) & valid
        there = channel == (1 if sigmoid else k + 1)
        counted.append(torch.stack([m.flatten(1).sum(1) for m in (here, there, here & there, valid)], 1))
    return torch.stack(counted, 2)


def summarise(criterion: Loss, sums: Tensor, counts: np.ndarray) -> Validation:
    """Scores from the sums of all cases.

    Both empty: the case has no DSC; one empty: 0.
    """
    fields = tuple(dict.fromkeys((COUNT, PIXELS, *criterion.fields)))  # as every pass takes them
    terms = criterion.terms_from_stats(RegionStats(fields, sums))
    predicted, true, common, valid = (counts[:, i].astype(float) for i in range(4))
    total = predicted + true
    with np.errstate(invalid="ignore", divide="ignore"):
        dsc = 2 * common / total
        pooled = 2 * common.sum(0) / total.sum(0)
        error = (predicted - true) / valid
    return Validation(
        loss=float(criterion.total(terms)),
        terms={name: float(value) for name, value in terms.items()},
        dsc=tuple(_mean(column) for column in dsc.T),
        dsc_pooled=tuple(float(value) for value in pooled),
        size_error=tuple(_mean(column) for column in error.T),
    )


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
