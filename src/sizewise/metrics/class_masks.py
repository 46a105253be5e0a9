"""The regions of each class in two label maps: their pixels, counted in one pass, and the box that holds both."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import find_objects

from sizewise.metrics.overlap import Counts

Box = tuple[slice, ...]


@dataclass(frozen=True)
class ClassMasks:
    """One class: its counts, and both masks within their common box, which is empty where neither has a pixel."""

    counts: Counts
    predicted: np.ndarray
    target: np.ndarray


def class_masks(
    predicted: np.ndarray, target: np.ndarray, *, classes: Sequence[int], ignore_index: int | None
) -> Iterator[ClassMasks]:
    """One for each class, in this order and one at a time; none at all when every pixel is ignored.

    >>> (one,) = class_masks(np.array([[0, 1, 1]]), np.array([[0, 0, 1]]), classes=[1], ignore_index=None)
    >>> one.counts, one.predicted.tolist(), one.target.tolist()
    (Counts(intersection=1, predicted=2, target=1, valid=3), [[True, True]], [[False, True]])
    """
    valid = target.size
    if ignore_index is not None:
        valid -= int(np.count_nonzero(_equal(target, ignore_index)))
    if not valid:
        return
    if 0 not in classes:  # what follows is then spared the background around everything
        inside = nonzero_box(predicted, target)
        predicted, target = predicted[inside], target[inside]
    ranks_predicted, ranks_target = _ranks(predicted, classes), _ranks(target, classes)
    if ignore_index is not None:
        ignored = _equal(target, ignore_index)
        ranks_predicted[ignored] = ranks_target[ignored] = 0
    boxes = [
        _union(pair)
        for pair in zip(_boxes(ranks_predicted, len(classes)), _boxes(ranks_target, len(classes)), strict=True)
    ]
    counts = _counts(ranks_predicted, ranks_target, classes=len(classes), within=_union(boxes), valid=valid)
    nowhere = (slice(0, 0),) * target.ndim
    for rank, (count, box) in enumerate(zip(counts, boxes, strict=True), start=1):
        yield ClassMasks(count, ranks_predicted[box or nowhere] == rank, ranks_target[box or nowhere] == rank)


def nonzero_box(*maps: np.ndarray) -> Box:
    """The smallest box outside of which all maps are 0; empty when they are 0 everywhere."""
    box = []
    for axis in range(maps[0].ndim):
        others = tuple(other for other in range(maps[0].ndim) if other != axis)
        places = np.flatnonzero(np.logical_or.reduce([labels.any(axis=others) for labels in maps]))
        box.append(slice(places[0], places[-1] + 1) if places.size else slice(0, 0))
    return tuple(box)


def _counts(predicted: np.ndarray, target: np.ndarray, *, classes: int, within: Box | None, valid: int) -> list[Counts]:
    """All classes from one histogram of (target, prediction) pairs; outside the box there is background alone."""
    if within is None:
        return [Counts(0, 0, 0, valid)] * classes
    width = classes + 1
    pairs = target[within].astype(np.intp) * width + predicted[within]
    table = np.bincount(pairs.ravel(), minlength=width * width).reshape(width, width)
    return [Counts(int(table[k, k]), int(table[:, k].sum()), int(table[k].sum()), valid) for k in range(1, width)]


def _ranks(labels: np.ndarray, classes: Sequence[int]) -> np.ndarray:
    """Each label's place in ``classes``, from 1; 0 for any other label."""
    top = max(classes, default=0)
    places = np.zeros(top + 2, np.uint8 if len(classes) < 256 else np.uint16)
    places[list(classes)] = np.arange(1, len(classes) + 1)
    if labels.dtype == np.uint8 and top < 255:
        return np.pad(places, (0, 254 - top))[labels]
    return places[np.where((labels < 0) | (labels > top), top + 1, labels).astype(np.intp)]


def _equal(labels: np.ndarray, value: int) -> np.ndarray:
    """Where labels have a value, which their dtype need not hold."""
    limits = np.iinfo(np.uint8 if labels.dtype == bool else labels.dtype)
    return labels == value if limits.min <= value <= limits.max else np.zeros(labels.shape, bool)


def _boxes(ranks: np.ndarray, classes: int) -> list[Box | None]:
    """The smallest box around each class, None where it is absent."""
    return find_objects(ranks, max_label=classes) if classes else []


def _union(boxes: Iterable[Box | None]) -> Box | None:
    """The smallest box around boxes."""
    found = [box for box in boxes if box]
    if not found:
        return None
    return tuple(slice(min(s.start for s in axis), max(s.stop for s in axis)) for axis in zip(*found, strict=True))
