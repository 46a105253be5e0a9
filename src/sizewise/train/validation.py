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
    first_class: int = 1,
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
        if criterion.activation == "sigmoid":
            counts.append(channel_counts(logits, labels))
        else:
            counts.append(region_counts(logits, labels, classes=range(first_class, logits.shape[1])))
    return torch.cat(sums, 1), torch.cat(counts)


def region_counts(logits: Tensor, labels: Tensor, *, classes: Sequence[int]) -> Tensor:
    """(N, 4, classes): pixels predicted, true, in common, and valid, from labels (N, 1, *S)."""
    predicted, valid = logits.argmax(1, keepdim=True), labels != UNLABELLED
    return torch.stack([_counts(predicted == k, labels == k, valid) for k in classes], 2)


def channel_counts(logits: Tensor, labels: Tensor) -> Tensor:
    """The same of channels that are problems of their own, from labels (N, C, *S)."""
    pairs = zip(logits.split(1, dim=1), labels.split(1, dim=1), strict=True)
    return torch.stack([_counts(logit > 0, label == 1, label != UNLABELLED) for logit, label in pairs], 2)


def _counts(predicted: Tensor, true: Tensor, valid: Tensor) -> Tensor:
    here = predicted & valid
    return torch.stack([mask.flatten(1).sum(1) for mask in (here, true, here & true, valid)], 1)


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
