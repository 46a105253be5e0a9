"""Cells: for each class a map that says to which true component each pixel belongs."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_class_ids, check_word
from sizewise.connected_components import cells_of
from sizewise.stats.inputs import ACTIVATIONS, FLOAT_DTYPES, check_ignore_index, dtype_name, plain, shape
from sizewise.stats.nearest import nearest
from sizewise.stats.reference import can_hold
from sizewise.stats.target_values import check_probabilities

# Below, numbers of cells take two bytes: every step reads them twice.
MOST_NARROW = 1 << 15


class Cells(Mapping[int, Tensor]):
    """The cells of a batch: ``cells[k]`` is the map of class k, (N, *S), 0 (or below) where a pixel has no cell.

    In each image the cells of a class are numbered from 1. :func:`components` makes them; they can also be put
    together from maps that were cropped, flipped or resampled (by nearest neighbour) with the labels.

    Args:
        maps: int16 or int32, (N, K', *S), one map for each of ``classes``.
        classes: the K' class ids; of sigmoid channels their numbers.
        most: no cell has a higher number. On a GPU, leaving it out costs a wait for the maps.

    >>> import torch, sizewise as sw
    >>> cells = sw.components(torch.tensor([[1, 0, 0, 0, 1, 0]]))
    >>> cells, cells[1].tolist()
    (Cells(classes=[1], most=2, shape=(1, 6)), [[1, 1, 1, 2, 2, 2]])
    """

    def __init__(self, maps: Tensor, classes: Sequence[int], most: int | None = None) -> None:
        maps = plain("Cells", "maps", maps)
        if maps.dtype.is_floating_point or maps.dtype == torch.bool:
            raise TypeError(f"Cells: maps must hold integers, the numbers of cells, got {dtype_name(maps)}.")
        self.classes = tuple(int(one) for one in classes)
        if maps.dim() < 3 or maps.shape[1] != len(self.classes) or len(set(self.classes)) < len(self.classes):
            raise ValueError(
                f"Cells: maps must have shape (N, K', *S) with one map for each of the K' = {len(self.classes)} "
                f"classes, got {shape(maps)} for {list(self.classes)}."
            )
        self.maps = maps if maps.dtype in (torch.int16, torch.int32) else maps.to(torch.int32)
        self.most = max(0, int(maps.amax()) if most is None and maps.numel() else int(most or 0))

    def __getitem__(self, class_id: int) -> Tensor:
        if class_id not in self.classes:
            raise KeyError(class_id)
        return self.maps[:, self.classes.index(class_id)]

    def __iter__(self) -> Iterator[int]:
        return iter(self.classes)

    def __len__(self) -> int:
        return len(self.classes)

    def to(self, device: Any, *, non_blocking: bool = False) -> "Cells":
        """The same cells on another device."""
        return Cells(self.maps.to(device, non_blocking=non_blocking), self.classes, self.most)

    def pin_memory(self) -> "Cells":
        """The same cells in memory from which a GPU copies while it computes; PyTorch's data loader calls this."""
        return Cells(self.maps.pin_memory(), self.classes, self.most)

    def resampled(self, spatial: Sequence[int]) -> "Cells":
        """The same cells at another resolution, by nearest neighbour."""
        return Cells(nearest(self.maps, spatial), self.classes, self.most)

    @staticmethod
    def stack(maps: Mapping[int, Tensor]) -> "Cells":
        """Cells from a map (N, *S) for each class id."""
        return Cells(torch.stack(list(maps.values()), 1), tuple(maps))

    def __repr__(self) -> str:
        whole = (self.maps.shape[0], *self.maps.shape[2:])
        return f"Cells(classes={list(self.classes)}, most={self.most}, shape={tuple(whole)})"


def components(
    labels: Tensor,
    mask: Tensor | None = None,
    *,
    classes: str | Sequence[int] = "foreground",
    ignore_index: int | None = None,
    activation: str = "softmax",
) -> Cells:
    """Find the components of each class, and give each valid pixel to the nearest one of them.

    A component is connected over edges and corners (8 neighbours in 2D, 26 in 3D). A pixel belongs to the component of
    class k that is nearest by Euclidean distance between pixels; of several at the same distance, to the one with the
    lowest number. Components are numbered from 1 in each image, in the order in which their first pixels lie in memory.
    Pixels that are not valid have no cell, and those of an image without the class have none either.

    It runs on the CPU with scipy, which the extra ``components`` brings; the maps go to where the labels lie.

    Args:
        labels: integer labels (N, *S); for sigmoid (N, C, *S); probabilities (N, K, *S) count where they are above ½.
        mask: bool, (N, *S); pixels where it is False are not valid.
        classes: ``"foreground"`` (all but class 0; for sigmoid every channel), ``"all"``, or a list of ids.
        ignore_index: the label of pixels without a label.
        activation: ``"softmax"`` for label maps, ``"sigmoid"`` for channels that may overlap.

    Returns:
        :class:`Cells`, which ``region_stats(…, cells=)`` and every criterion take.

    >>> import torch, sizewise as sw
    >>> labels = torch.tensor([[[2, 0, 1, 0, 0, 1]]])
    >>> cells = sw.components(labels)
    >>> cells[1].tolist(), cells[2].tolist()
    ([[[1, 1, 1, 1, 2, 2]]], [[[1, 1, 1, 1, 1, 1]]])
    """
    where = "components"
    check_word(where, "activation", activation, ACTIVATIONS)
    if isinstance(classes, str):
        check_word(where, "classes", classes, ("all", "foreground"))
    else:
        classes = check_class_ids(where, classes)
    ignore_index = check_ignore_index(where, ignore_index)
    labels = plain(where, "labels", labels)
    channels = activation == "sigmoid" or labels.dtype in FLOAT_DTYPES
    if labels.dim() < (3 if channels else 2):
        form = "(N, C, *S)" if channels else "(N, *S)"
        raise ValueError(
            f"{where}: labels must have shape {form}, got {shape(labels)}. For one image use labels[None]."
        )
    if mask is not None:
        mask = plain(where, "mask", mask)
        flat = (labels.shape[0], *labels.shape[2 if channels else 1 :])
        if mask.dtype != torch.bool or tuple(mask.shape) not in (flat, tuple(labels.shape)):
            raise ValueError(
                f"{where}: mask must be bool, (N, *S) = {flat}, True at the pixels to use, got {dtype_name(mask)} "
                f"{shape(mask)}."
            )
        mask = mask.unsqueeze(1) if tuple(mask.shape) == flat else mask
    if channels:
        known = labels.shape[1]
        if activation == "softmax":  # a label map of floats has this form too, and would give other components
            check_probabilities(labels.detach().flatten(2), None if mask is None else mask[:, 0].flatten(1))
    else:
        labels = labels.unsqueeze(1)
        known = 1 + _highest(labels, mask, ignore_index)
    return find_cells(labels, mask, chosen(classes, known, activation == "sigmoid"), ignore_index, channels)


def chosen(classes: str | Sequence[int], known: int, sigmoid: bool) -> tuple[int, ...]:
    """The ids that ``classes``, already checked, stand for, of so many classes or channels."""
    if isinstance(classes, str):
        return tuple(range(1 if classes == "foreground" and not sigmoid else 0, known))
    return tuple(classes)


def find_cells(
    target: Tensor, mask: Tensor | None, ids: Sequence[int], ignore_index: int | None, channels: bool
) -> Cells:
    """The cells of a target in the operator's form: labels (N, 1, *S), or with ``channels`` (N, C, *S).

    The mask is (N, 1, *S), or (N, C, *S) for channels.
    """
    device = target.device
    target = target.detach().cpu()
    masked = None if mask is None else mask.cpu()
    valid = masked
    if ignore_index is not None and not target.dtype.is_floating_point and can_hold(target.dtype, ignore_index):
        labelled = target.long() != ignore_index
        valid = labelled if masked is None else masked & labelled
    images, spatial = target.shape[0], target.shape[2:]
    maps = torch.zeros((images, len(ids), *spatial), dtype=torch.int32)

    def fill(place: tuple[int, int]) -> int:
        image, number = place
        if channels:
            plane = target[image, ids[number]] if ids[number] < target.shape[1] else torch.zeros(spatial)
            region = plane > 0.5 if plane.dtype.is_floating_point else plane == 1
        else:
            region = target[image, 0].long() == ids[number]
        inside = None
        if valid is not None:
            inside = valid[image, ids[number] if valid.shape[1] > 1 else 0]
            region = region & inside
        if not bool(region.any()):
            return 0
        cells, count = cells_of(region.numpy())
        found = torch.from_numpy(cells)
        maps[image, number] = found if inside is None else found.where(inside, 0)
        return count

    places = [(image, number) for image in range(images) for number in range(len(ids))]
    if len(places) > 1 and torch.get_num_threads() > 1 and target[0].numel() >= 1 << 14:
        with ThreadPoolExecutor(torch.get_num_threads(), thread_name_prefix="sizewise") as pool:
            counts = list(pool.map(fill, places))
    else:
        counts = [fill(place) for place in places]
    most = max(counts, default=0)
    return Cells(maps.to(torch.int16 if most < MOST_NARROW else torch.int32).to(device), ids, most)


def prepare_cells(where: str, cells: Any, logits: Tensor) -> Cells:
    """Given cells in the one form that the operator takes, or what is wrong with them."""
    if isinstance(cells, Mapping) and not isinstance(cells, Cells):
        cells = Cells.stack(cells)
    if not isinstance(cells, Cells):
        raise TypeError(
            f"{where}: cells must be what sizewise.components(labels) returns, or a map for each class id, got "
            f"{type(cells).__name__}."
        )
    maps = cells.maps
    if maps.dim() == logits.dim() + 1 and maps.shape[2] == 1:  # of labels (N, 1, *S)
        maps = maps.squeeze(2)
    wanted = (logits.shape[0], len(cells.classes), *logits.shape[2:])
    if tuple(maps.shape) != wanted:
        raise ValueError(
            f"{where}: cells must have maps of shape {wanted}, got {shape(maps)} for {shape(logits)} logits."
        )
    if maps.device != logits.device:
        raise ValueError(
            f"{where}: cells are on {maps.device}, but the logits are on {logits.device}. Use cells.to(logits.device)."
        )
    if cells.classes and (max(cells.classes) >= logits.shape[1] or min(cells.classes) < 0):
        raise ValueError(
            f"{where}: cells are of the classes {list(cells.classes)}, but there are {logits.shape[1]}, from 0 on."
        )
    return cells if maps is cells.maps else Cells(maps, cells.classes, cells.most)


def _highest(labels: Tensor, mask: Tensor | None, ignore_index: int | None) -> int:
    """The highest label of a valid pixel."""
    values = labels.detach().long()
    valid = torch.ones_like(values, dtype=torch.bool)
    if ignore_index is not None:
        valid &= values != ignore_index
    if mask is not None:
        valid &= mask
    return max(0, int(values.where(valid, 0).amax())) if values.numel() else 0
