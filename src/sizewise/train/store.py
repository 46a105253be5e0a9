"""Prepared cases, decoded once: packed into two flat arrays, in device memory or, where they do not fit, on disk.

Cases may differ in shape. A case's image (C, *S) and labels ([C,] *S) lie flat at an offset, so that a batch of crops
is one gather with index arithmetic: no shape depends on the data, and a CUDA graph can hold it.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sizewise.data.dataset import Case, Dataset
from sizewise.errors import BadInput
from sizewise.progress import track
from sizewise.train.preparation import UNLABELLED, Preparation

POINTS_KEPT = 2_000  # foreground pixels remembered for each class of a case, as centres of crops


@dataclass(frozen=True)
class Prepared:
    """One case, ready to be cropped.

    Attributes:
        image: (C, *S).
        labels: (*S) or (C, *S) uint8.
        points: for each foreground class that the case has, coordinates inside it, (n, D).
    """

    image: Tensor
    labels: Tensor
    points: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Store:
    """All prepared cases of one subset.

    Attributes:
        names: of the cases.
        images: flat.
        labels: flat.
        shapes: (n, D).
        image_offsets: where each case begins in ``images``, (n,).
        label_offsets: likewise.
        channels: of the images.
        label_channels: 0 for label maps, C for multi-label.
        points: see :class:`Prepared`.
    """

    names: tuple[str, ...]
    images: Tensor
    labels: Tensor
    shapes: np.ndarray
    image_offsets: np.ndarray
    label_offsets: np.ndarray
    channels: int
    label_channels: int
    points: tuple[tuple[np.ndarray, ...], ...]

    def __len__(self) -> int:
        return len(self.names)

    def image(self, index: int) -> Tensor:
        """(C, *S), a view."""
        shape = (self.channels, *(int(n) for n in self.shapes[index]))
        return _slice(self.images, int(self.image_offsets[index]), shape)

    def target(self, index: int) -> Tensor:
        """(*S) or (C, *S), a view."""
        spatial = tuple(int(n) for n in self.shapes[index])
        shape = (self.label_channels, *spatial) if self.label_channels else spatial
        return _slice(self.labels, int(self.label_offsets[index]), shape)


def prepare_case(dataset: Dataset, case: Case, preparation: Preparation) -> Prepared:
    """Decode one case, resize and scale it, and find its foreground."""
    image = dataset.reader.image(case)
    labels = dataset.reader.target(case)
    spatial = image.pixels.shape[1:]
    if labels.shape[-len(spatial) :] != spatial:
        raise BadInput(
            f"{case.name}: the target has shape {labels.shape[-len(spatial) :]}, its image {spatial}. "
            "Run `sizewise data` to check the whole data set."
        )
    prepared = preparation.target(labels, preparation.shape(image), dataset.ignore_index)
    return Prepared(preparation.image(image), prepared, foreground_points(prepared, len(spatial)))


def foreground_points(labels: Tensor, spatial_dims: int) -> tuple[np.ndarray, ...]:
    """Coordinates inside each foreground class that is there, thinned evenly."""
    array = labels.numpy()
    if array.ndim > spatial_dims:
        masks = [channel == 1 for channel in array]
    else:
        masks = [array == value for value in np.unique(array) if value not in (0, UNLABELLED)]
    found = [np.argwhere(mask).astype(np.int32) for mask in masks if mask.any()]
    return tuple(points[:: -(-len(points) // POINTS_KEPT)] for points in found)


def load_store(
    dataset: Dataset,
    cases: Sequence[Case],
    preparation: Preparation,
    *,
    device: torch.device,
    keep_on_device: str = "auto",
    workers: int = 0,
    what: str = "Reading",
) -> Store:
    """Decode all cases with a thread per core, and keep them on the device if they take less than 40 % of what is free.

    Else they are written once, uncompressed, to the cache folder, from where crops are read on demand.
    """
    first = prepare_case(dataset, cases[0], preparation)
    estimate = (first.image.nbytes + first.labels.nbytes) * len(cases)
    if keep_on_device != "auto" or estimate > 0.4 * free_bytes(device):
        from sizewise.train.disk_store import cached_store

        return cached_store(dataset, cases, preparation, decode(dataset, cases, preparation, workers, what))
    images, labels, shapes, points = [], [], [], []
    for one in decode(dataset, cases, preparation, workers, what):
        images.append(one.image.reshape(-1))
        labels.append(one.labels.reshape(-1))
        shapes.append(tuple(one.image.shape))
        points.append(one.points)
    return pack(
        cases,
        torch.cat(images).to(device),
        torch.cat(labels).to(device),
        shapes,
        points,
        label_channels=label_channels(first),
    )


def decode(
    dataset: Dataset, cases: Sequence[Case], preparation: Preparation, workers: int, what: str
) -> Iterator[Prepared]:
    """Prepared cases in order, decoded by threads a few cases ahead of whoever takes them."""
    threads = workers or os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Prepared]] = deque()
        for case in track(cases, what=what):
            waiting.append(pool.submit(prepare_case, dataset, case, preparation))
            if len(waiting) > 4 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def pack(
    cases: Sequence[Case],
    images: Tensor,
    labels: Tensor,
    shapes: Sequence[tuple[int, ...]],
    points: Sequence[tuple[np.ndarray, ...]],
    *,
    label_channels: int,
) -> Store:
    """A store from flat arrays and the (C, *S) of each case."""
    channels = sorted({shape[0] for shape in shapes})
    if len(channels) > 1:
        one, other = (next(c for c, s in zip(cases, shapes, strict=True) if s[0] == n) for n in channels[:2])
        raise BadInput(
            f"all images must have the same number of channels: {one.images[0] if one.images else one.name} has "
            f"{channels[0]}, {other.images[0] if other.images else other.name} has {channels[1]}."
        )
    spatial = np.array([shape[1:] for shape in shapes], np.int64)
    starts = np.concatenate([[0], np.cumsum(spatial.prod(axis=1))])[:-1]
    return Store(
        names=tuple(case.name for case in cases),
        images=images,
        labels=labels,
        shapes=spatial,
        image_offsets=starts * channels[0],
        label_offsets=starts * max(1, label_channels),
        channels=channels[0],
        label_channels=label_channels,
        points=tuple(points),
    )


def label_channels(prepared: Prepared) -> int:
    """0 for a label map, C for multi-label."""
    return len(prepared.labels) if prepared.labels.dim() == prepared.image.dim() else 0


def free_bytes(device: torch.device) -> int:
    """Memory that is free now, on the device or in the machine."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _slice(flat: Tensor, start: int, shape: tuple[int, ...]) -> Tensor:
    return flat[start : start + int(np.prod(shape))].view(shape)
