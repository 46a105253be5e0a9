"""All scores of one case, in one pass over its two label maps."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import find_objects

from sizewise.metrics.overlap import Counts, dsc, iou
from sizewise.metrics.policy import image_diagonal_mm, outcome
from sizewise.metrics.size import relative_size_error, size_error
from sizewise.metrics.surface import hd95, nsd, surface_distances

Box = tuple[slice, ...]


@dataclass(frozen=True)
class RegionScore:
    """The scores of one class in one case. None is "no value", as ``policy`` has it.

    Attributes:
        class_id: the label; for multi-label targets the channel, counted from 1.
        counts: pixels; their sums over cases give the pooled scores.
        nsd: None also when surfaces were not asked for.
        hd95: in mm; None likewise.
        surface: whether nsd and hd95 were asked for.
    """

    class_id: int
    counts: Counts
    nsd: float | None
    hd95: float | None
    surface: bool = True

    def values(self) -> dict[str, float | None]:
        """By metric name, in the order of the tables."""
        overlap = {"dsc": dsc(self.counts), "iou": iou(self.counts)}
        surface = {"nsd": self.nsd, "hd95": self.hd95} if self.surface else {}
        size = {"size_error": size_error(self.counts), "relative_size_error": relative_size_error(self.counts)}
        return {**overlap, **surface, **size}


def score_case(
    predicted: np.ndarray,
    target: np.ndarray,
    *,
    classes: Sequence[int],
    spacing: Sequence[float],
    nsd_tolerance: float,
    ignore_index: int | None = None,
    surface: bool = True,
) -> list[RegionScore]:
    """Score a predicted label map, class by class.

    Args:
        predicted: (*S) class ids of an integer dtype, 2D or 3D.
        target: (*S) class ids.
        classes: the ids to score, one result each in this order; every other id is background.
        spacing: mm between neighbours along each axis.
        nsd_tolerance: mm by which a surface may be off.
        ignore_index: pixels with this target count for nothing.
        surface: False leaves out nsd and hd95, which cost most of the time.

    Returns:
        One score per class; none at all when every pixel is ignored.

    >>> target = np.zeros((10, 10), np.uint8)
    >>> target[2:6, 2:6] = 1
    >>> (score,) = score_case(np.roll(target, 1, axis=0), target, classes=[1], spacing=(1, 1), nsd_tolerance=1.0)
    >>> score.values()["dsc"], score.values()["nsd"], score.values()["size_error"]
    (0.75, 1.0, 0.0)
    """
    _check_pair("score_case", predicted, target)
    _check_measures(target.shape, spacing, nsd_tolerance)
    if len(set(classes)) < len(classes) or min(classes, default=0) < 0:
        raise ValueError(f"score_case: classes must be different ids >= 0, got {list(classes)}.")
    shape, valid = target.shape, target.size
    if ignore_index is not None:
        valid -= int(np.count_nonzero(_equal(target, ignore_index)))
    if not valid:
        return []
    if 0 not in classes:  # what follows is then spared the background around everything
        inside = nonzero_box(predicted, target)
        predicted, target = predicted[inside], target[inside]
    ranks_predicted, ranks_target = _ranks(predicted, classes), _ranks(target, classes)
    if ignore_index is not None:
        ignored = _equal(target, ignore_index)
        ranks_predicted[ignored] = ranks_target[ignored] = 0
    boxes = [
        _union([*pair]) if any(pair) else None
        for pair in zip(_boxes(ranks_predicted, len(classes)), _boxes(ranks_target, len(classes)), strict=True)
    ]
    counts = _counts(ranks_predicted, ranks_target, classes=len(classes), within=_union(boxes), valid=valid)
    return [
        _score(
            class_id,
            count,
            (ranks_predicted[box] == rank, ranks_target[box] == rank) if box and surface else None,
            diagonal_mm=image_diagonal_mm(shape, spacing),
            spacing=spacing,
            nsd_tolerance=nsd_tolerance,
            surface=surface,
        )
        for rank, (class_id, count, box) in enumerate(zip(classes, counts, boxes, strict=True), start=1)
    ]


def score_channels(
    predicted: np.ndarray,
    target: np.ndarray,
    *,
    spacing: Sequence[float],
    nsd_tolerance: float,
    ignore_index: int | None = None,
    surface: bool = True,
) -> list[RegionScore]:
    """Score multi-label maps (C, *S), where regions may overlap: each channel as a map of its own.

    Class ids are the channels counted from 1. ``ignore_index`` holds per channel; a channel whose pixels are all
    ignored has no score. The other arguments are those of ``score_case``.

    >>> lesions = np.ones((2, 4, 4), np.uint8)
    >>> scores = score_channels(lesions, lesions, spacing=(1, 1), nsd_tolerance=1.0)
    >>> [(score.class_id, score.values()["dsc"]) for score in scores]
    [(1, 1.0), (2, 1.0)]
    """
    _check_pair("score_channels", predicted, target)
    scores = []
    for class_id, (here, there) in enumerate(zip(predicted, target, strict=True), start=1):
        strange = (_values(there) - {0, 1, ignore_index}) | (_values(here) - {0, 1})
        if strange:
            raise ValueError(
                f"score_channels: channel {class_id - 1} must hold 0 and 1, got {sorted(strange)}. Label maps of "
                "several classes go to score_case; an ignored label is given as ignore_index."
            )
        for score in score_case(
            here,
            there,
            classes=[1],
            spacing=spacing,
            nsd_tolerance=nsd_tolerance,
            ignore_index=ignore_index,
            surface=surface,
        ):
            scores.append(RegionScore(class_id, score.counts, score.nsd, score.hd95, surface))
    return scores


def true_negative(class_id: int, *, valid_px: int, surface: bool = True) -> RegionScore:
    """The score of a class that neither map contains.

    >>> true_negative(3, valid_px=100).values()["dsc"] is None
    True
    """
    return RegionScore(class_id, Counts(0, 0, 0, valid_px), None, None, surface)


def _score(
    class_id: int,
    counts: Counts,
    masks: tuple[np.ndarray, np.ndarray] | None,
    *,
    diagonal_mm: float,
    spacing: Sequence[float],
    nsd_tolerance: float,
    surface: bool,
) -> RegionScore:
    """One class, from its counts and its masks within their common box."""
    found = outcome(predicted_px=counts.predicted, target_px=counts.target)
    if not surface or masks is None:
        return RegionScore(class_id, counts, None, None, surface)
    if found != "present":
        return RegionScore(class_id, counts, 0.0, diagonal_mm)
    distances = surface_distances(*masks, spacing=spacing)
    return RegionScore(class_id, counts, nsd(distances, tolerance_mm=nsd_tolerance), hd95(distances))


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


def nonzero_box(*maps: np.ndarray) -> Box:
    """The smallest box outside of which all maps are 0; empty when they are 0 everywhere."""
    box = []
    for axis in range(maps[0].ndim):
        others = tuple(other for other in range(maps[0].ndim) if other != axis)
        places = np.flatnonzero(np.logical_or.reduce([labels.any(axis=others) for labels in maps]))
        box.append(slice(places[0], places[-1] + 1) if places.size else slice(0, 0))
    return tuple(box)


def _boxes(ranks: np.ndarray, classes: int) -> list[Box | None]:
    """The smallest box around each class, None where it is absent."""
    return find_objects(ranks, max_label=classes) if classes else []


def _union(boxes: Iterable[Box | None]) -> Box | None:
    """The smallest box around boxes."""
    found = [box for box in boxes if box]
    if not found:
        return None
    return tuple(slice(min(s.start for s in axis), max(s.stop for s in axis)) for axis in zip(*found, strict=True))


def _values(labels: np.ndarray) -> set[int]:
    return set(np.unique(labels).astype(int).tolist())


def _check_pair(where: str, predicted: np.ndarray, target: np.ndarray) -> None:
    if predicted.shape != target.shape:
        raise ValueError(f"{where}: predicted has shape {predicted.shape}, target {target.shape}; they must be equal.")
    for name, labels in (("predicted", predicted), ("target", target)):
        if labels.dtype.kind not in "uib":
            raise TypeError(f"{where}: {name} must hold integer labels, got {labels.dtype}: .astype(np.int64).")


def _check_measures(shape: tuple[int, ...], spacing: Sequence[float], nsd_tolerance: float) -> None:
    if len(shape) not in (2, 3):
        raise ValueError(f"score_case: label maps must be 2D or 3D, got shape {shape}.")
    if len(spacing) != len(shape) or not all(math.isfinite(step) and step > 0 for step in spacing):
        raise ValueError(f"score_case: spacing must be {len(shape)} numbers > 0, one per axis, got {tuple(spacing)}.")
    if not (math.isfinite(nsd_tolerance) and nsd_tolerance >= 0):
        raise ValueError(f"score_case: nsd_tolerance must be a number >= 0, in mm, got {nsd_tolerance}.")
