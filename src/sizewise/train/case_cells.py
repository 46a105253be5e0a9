"""The cells of prepared cases, found once and cropped and moved with the labels.

Finding them takes tens of milliseconds for an image and a second for a volume, on the CPU; a crop of a map that is
there takes what a crop of labels does, on the device, inside a CUDA graph. A component that a crop cuts stays one.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sizewise.criterion import Loss
from sizewise.parallel import available_cores, map_ahead
from sizewise.private_apis import single_core_threads
from sizewise.progress import track
from sizewise.stats.cells import Cells, find_cells
from sizewise.train.disk_store import cache_folder
from sizewise.train.preparation import UNLABELLED
from sizewise.train.store import Store

NARROW = 1 << 15  # numbers below this take two bytes


@dataclass(frozen=True)
class CaseCells:
    """The maps of all cases of a store, flat, as (classes, *S) each.

    Attributes:
        maps: flat, int16 or int32, where the labels are.
        offsets: where each case begins, (n,).
        shapes: (n, D).
        classes: that have a map.
        most: the largest number of components that a class has in one case.
    """

    maps: Tensor
    offsets: np.ndarray
    shapes: np.ndarray
    classes: tuple[int, ...]
    most: int

    def of(self, indices: Sequence[int], device: torch.device) -> Cells:
        """Those of cases that have one shape."""
        shape = (len(self.classes), *(int(n) for n in self.shapes[indices[0]]))
        starts = [int(self.offsets[index]) for index in indices]
        maps = torch.stack([self.maps[start : start + int(np.prod(shape))].view(shape) for start in starts])
        return Cells(maps.to(device, torch.int32), self.classes, self.most)

    def batch(self, maps: Tensor) -> Cells:
        """Crops (N, classes, *S) of these maps as a criterion takes them."""
        return Cells(maps, self.classes, self.most)


def find_case_cells(
    store: Store, criterion: Loss, *, channels: int, workers: int = 0, what: str = ""
) -> CaseCells | None:
    """The cells that a criterion asks for, of every case; None where it has no term per component.

    They lie where the labels do: on the device, in memory, or in a file of the cache folder that is gone with the
    process.
    """
    sigmoid = criterion.activation == "sigmoid"
    classes = criterion.cell_classes(channels, sigmoid)
    if not classes:
        return None

    def find(index: int) -> tuple[np.ndarray, int]:
        target = store.target(index).cpu()
        target = target if store.label_channels else target[None]
        found = find_cells(target[None], None, classes, UNLABELLED, sigmoid)
        return found.maps[0].numpy(), found.most

    starts = np.concatenate([[0], np.cumsum(store.shapes.prod(axis=1) * len(classes))])
    threads = workers or available_cores()
    work = map_ahead(find, range(len(store)), threads=threads, ahead=4 * threads, make_pool=single_core_threads)
    flat, most = _room(store, int(starts[-1])), 0
    for index, (maps, count) in enumerate(track(work, what=what, total=len(store)) if what else work):
        flat[starts[index] : starts[index + 1]] = torch.from_numpy(maps.reshape(-1))
        most = max(most, count)
    if not store.on_disk and most < NARROW:
        flat = flat.to(torch.int16)
    return CaseCells(flat.to(store.labels.device), starts[:-1], store.shapes, classes, most)


def _room(store: Store, size: int) -> Tensor:
    """int32 memory for all maps; in a file where the labels are in one."""
    if not store.on_disk:
        return torch.empty(size, dtype=torch.int32)
    root = cache_folder()
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=root) as file:  # the map keeps it until the process ends
        file.truncate(max(1, size) * 4)
        return torch.from_numpy(np.memmap(file, dtype=np.int32, mode="r+", shape=(max(1, size),)))[:size]
