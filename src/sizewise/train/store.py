"""Prepared cases, decoded once: packed into two flat arrays, in device memory or, where they do not fit, on disk.

Cases may differ in shape. A case's image (C, *S) and labels ([C,] *S) lie flat at an offset, so that a batch of crops
is one gather with index arithmetic: no shape depends on the data, and a CUDA graph can hold it.
"""

import contextlib
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sizewise.data.dataset import Case, Dataset
from sizewise.errors import BadInput
from sizewise.parallel import available_cores, map_ahead
from sizewise.private_apis import single_core_threads
from sizewise.progress import track
from sizewise.train.preparation import UNLABELLED, Preparation, as_target

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
        on_disk: whether the arrays are files of the cache folder, since they do not fit into memory.
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
    on_disk: bool = False

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
    preparation.check(image, case.name)
    labels = dataset.reader.target(case)
    spatial = image.pixels.shape[1:]
    if labels.shape[-len(spatial) :] != spatial:
        raise BadInput(
            f"{case.name}: the target has shape {labels.shape[-len(spatial) :]}, its image {spatial}. "
            "Run `sizewise data` to check the whole data set."
        )
    prepared = as_target(labels, preparation.shape(image), dataset.ignore_index)
    most = 2 if dataset.activation == "sigmoid" else len(dataset.classes)
    outside = (labels >= most) | (labels < 0)
    if dataset.ignore_index is not None:  # comparing with None would take numpy a Python call for each pixel
        outside &= labels != dataset.ignore_index
    stray = np.unique(labels[outside])
    if len(stray):
        raise BadInput(
            f"{case.name}: the target has the labels {', '.join(map(str, stray[:8]))}, and there are {most} classes, "
            "from 0 on. Pixels without a label are named by `ignore_index`."
        )
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


def classes_present(store: Store) -> set[int]:
    """Ids of the foreground classes that some case has; channels of multi-label targets count from 1.

    One pixel per region is looked at. Where channels overlap there, all of them count as present.
    """
    found: set[int] = set()
    for case, regions in enumerate(store.points):
        target = store.target(case)
        for points in regions:
            here = target[..., *points[0].tolist()]
            found |= {k + 1 for k, value in enumerate(here.tolist()) if value == 1} if here.dim() else {int(here)}
    return found


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
    limit = 0.4 * min(free_bytes(device), free_bytes(torch.device("cpu")))  # decoded in the one, kept in the other
    held = (first.image.nbytes + first.labels.nbytes) * len(cases)
    images, labels, shapes, points = deque[Tensor](), deque[Tensor](), [], []
    fits = keep_on_device == "auto" and held <= limit
    if fits:
        held = 0
        for one in decode(dataset, cases, preparation, workers, what):
            images.append(one.image.reshape(-1))
            labels.append(one.labels.reshape(-1))
            shapes.append(tuple(one.image.shape))
            points.append(one.points)
            held += one.image.nbytes + one.labels.nbytes
            fits = held <= limit
            if not fits:  # the others are larger than the first
                break
    if not fits:
        from sizewise.train.disk_store import cached_store

        images.clear()
        labels.clear()
        return cached_store(dataset, cases, preparation, decode(dataset, cases, preparation, workers, what))
    flat = _joined(images, device), _joined(labels, device)
    return pack(cases, *flat, shapes, points, label_channels=label_channels(first))


class StoreCache:
    """Stores that several runs of one process share: decoded once, kept as long as the cache."""

    def __init__(self) -> None:
        self._stores: dict[tuple[object, ...], Store] = {}

    def load(self, dataset: Dataset, cases: Sequence[Case], preparation: Preparation, **options: Any) -> Store:
        """As :func:`load_store`, unless the same was loaded before."""
        words = tuple(value for name, value in sorted(options.items()) if name != "what")
        key = (id(dataset), preparation, words, tuple(case.name for case in cases))
        if key not in self._stores:
            self._stores[key] = load_store(dataset, cases, preparation, **options)
        return self._stores[key]


def decode(
    dataset: Dataset, cases: Sequence[Case], preparation: Preparation, workers: int, what: str
) -> Iterator[Prepared]:
    """Prepared cases in order, decoded by threads a few cases ahead of whoever takes them."""
    threads = workers or available_cores()
    prepare = partial(prepare_case, dataset, preparation=preparation)
    decoded = map_ahead(prepare, cases, threads=threads, ahead=4 * threads, make_pool=single_core_threads)
    return track(decoded, what=what, total=len(cases))


def pack(
    cases: Sequence[Case],
    images: Tensor,
    labels: Tensor,
    shapes: Sequence[tuple[int, ...]],
    points: Sequence[tuple[np.ndarray, ...]],
    *,
    label_channels: int,
    on_disk: bool = False,
) -> Store:
    """A store from flat arrays and the (C, *S) of each case."""
    channels = shapes[0][0]  # the same for all: Preparation.check
    spatial = np.array([shape[1:] for shape in shapes], np.int64)
    starts = np.concatenate([[0], np.cumsum(spatial.prod(axis=1))])[:-1]
    return Store(
        names=tuple(case.name for case in cases),
        images=images,
        labels=labels,
        shapes=spatial,
        image_offsets=starts * channels,
        label_offsets=starts * max(1, label_channels),
        channels=channels,
        label_channels=label_channels,
        points=tuple(points),
        on_disk=on_disk,
    )


def label_channels(prepared: Prepared) -> int:
    """0 for a label map, C for multi-label."""
    return len(prepared.labels) if prepared.labels.dim() == prepared.image.dim() else 0


def free_bytes(device: torch.device) -> int:
    """Memory that can be had now, on the device or in the machine, where files that are cached in it make room."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not Linux: half of all there is
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    with contextlib.suppress(OSError, ValueError):  # a container may get less than the machine has; "max": it does not
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text())
        available = min(available, max(0, most - int((group / "memory.current").read_text())))
    return available


def _joined(parts: deque[Tensor], device: torch.device) -> Tensor:
    """One flat tensor on the device; each part is let go when it is there, so that nothing is held twice."""
    flat = torch.empty(sum(len(part) for part in parts), dtype=parts[0].dtype, device=device)
    start = 0
    while parts:
        part = parts.popleft()
        flat[start : start + len(part)] = part
        start += len(part)
    return flat


def _slice(flat: Tensor, start: int, shape: tuple[int, ...]) -> Tensor:
    return flat[start : start + int(np.prod(shape))].view(shape)
