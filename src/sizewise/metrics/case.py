"""All scores of one case, in one pass over its two label maps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sizewise.metrics.class_masks import ClassMasks, class_masks
from sizewise.metrics.component_matches import ComponentMatches, third_limits, within
from sizewise.metrics.overlap import Counts
from sizewise.metrics.policy import image_diagonal_mm
from sizewise.metrics.region import Region, measure_region
from sizewise.metrics.registry import METRICS


@dataclass(frozen=True)
class RegionScore:
    """The scores of one class in one case. None is "no value", as ``policy`` has it.

    Attributes:
        class_id: the label; for multi-label targets the channel, counted from 1.
        counts: pixels; their sums over cases give the pooled scores.
        measured: the metrics that need masks, by name, as far as they were asked for.
        components: of both masks, matched; None where no metric of components was asked for.
    """

    class_id: int
    counts: Counts
    measured: dict[str, float | None] = field(default_factory=dict)
    components: ComponentMatches | None = None

    def values(self, thirds: tuple[float, float] | None = None) -> dict[str, float | None]:
        """By metric name, in the order of the registry.

        ``thirds`` are those of the data set's components (:func:`sizewise.metrics.component_matches.size_thirds`);
        metrics by size have no entry without them.
        """
        found: dict[str, float | None] = {}
        for name, metric in METRICS.items():
            if metric.of_counts is not None:
                found[name] = metric.of_counts(self.counts)
            elif name in self.measured:
                found[name] = self.measured[name]
            elif metric.of_components is not None and self.components is not None:
                if not metric.third:
                    found[name] = metric.of_components(self.components)
                elif thirds is not None:
                    found[name] = metric.of_components(within(self.components, third_limits(metric.third, thirds)))
        return found


def score_case(
    predicted: np.ndarray,
    target: np.ndarray,
    *,
    classes: Sequence[int],
    spacing: Sequence[float],
    nsd_tolerance: float,
    ignore_index: int | None = None,
    metrics: Sequence[str] | None = None,
) -> list[RegionScore]:
    """Score a predicted label map, class by class.

    Args:
        predicted: (*S) class ids of an integer dtype, 2D or 3D.
        target: (*S) class ids.
        classes: the ids to score, one result each in this order; every other id is background.
        spacing: mm between neighbours along each axis.
        nsd_tolerance: mm by which a surface may be off.
        ignore_index: pixels with this target count for nothing.
        metrics: names of those to compute among the ones that need masks; None: all. Surfaces cost most of the time.

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
    names = tuple(METRICS if metrics is None else metrics)
    steps = tuple(float(step) for step in spacing)
    diagonal_mm = image_diagonal_mm(target.shape, steps)

    def score(class_id: int, masks: ClassMasks) -> RegionScore:
        region = Region(masks.counts, masks.predicted, masks.target, steps, nsd_tolerance, diagonal_mm)
        wanted = any(METRICS[name].of_components is not None for name in names)
        return RegionScore(class_id, masks.counts, measure_region(region, names), region.components if wanted else None)

    found = class_masks(predicted, target, classes=classes, ignore_index=ignore_index)
    return [score(class_id, masks) for class_id, masks in zip(classes, found, strict=False)]


def score_channels(
    predicted: np.ndarray,
    target: np.ndarray,
    *,
    spacing: Sequence[float],
    nsd_tolerance: float,
    ignore_index: int | None = None,
    metrics: Sequence[str] | None = None,
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
            metrics=metrics,
        ):
            scores.append(replace(score, class_id=class_id))
    return scores


def true_negative(class_id: int, *, valid_px: int) -> RegionScore:
    """The score of a class that neither map contains.

    >>> true_negative(3, valid_px=100).values()["dsc"] is None
    True
    """
    without_value = {name: None for name, metric in METRICS.items() if metric.of_region is not None}
    return RegionScore(class_id, Counts(0, 0, 0, valid_px), dict(without_value), ComponentMatches())


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
