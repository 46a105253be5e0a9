"""One case measured: sizes, overlaps under other decisions and sizes, curves and components of each class.

The questions of the decomposition, each a DSC of the class in the case:

| name | what is scored |
|---|---|
| now | the labels as predicted |
| dice | the labels that :func:`sizewise.decide` draws for Dice |
| fitted | the same after a fitted temperature |
| sizes | the T most probable pixels, T the true size: one class against the rest; ties count in part |
| matched | 2 min(V, T) / (V + T): as much overlap as the predicted size V allows |
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from sizewise.decisions.decide import decide
from sizewise.diagnosis.component_errors import ComponentErrors, component_errors
from sizewise.diagnosis.probability_histogram import ProbabilityHistogram, histogram
from sizewise.metrics.overlap import Counts, dsc

NOW, DICE, FITTED, SIZES, MATCHED = QUESTIONS = ("now", "dice", "fitted", "sizes", "matched")


@dataclass(frozen=True)
class Problem:
    """What the labels and probabilities of a model mean.

    Attributes:
        classes: the ids that are scored; None: whatever the label maps hold, but 0 unless ``background`` is None.
        names: of classes, where they are known.
        activation: "softmax", or "sigmoid" for one channel a class.
        background: the class that no score counts, or None.
        ignore_index: target pixels that count for nothing.
        multilabel: label maps are (C, *S), with class 1 first.
    """

    classes: tuple[int, ...] | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    activation: str = "softmax"
    background: int | None = 0
    ignore_index: int | None = None
    multilabel: bool = False

    def region(self, labels: np.ndarray, class_id: int) -> np.ndarray:
        """The mask (*S) of a class."""
        return labels[class_id - 1] > 0 if self.multilabel else labels == class_id

    def channel(self, class_id: int) -> int:
        """Where the class lies among the probabilities."""
        return class_id - 1 if self.activation == "sigmoid" else class_id

    def scored(self, *maps: np.ndarray) -> tuple[int, ...]:
        """The classes of a case."""
        if self.classes is not None:
            return self.classes
        found = set().union(*(np.unique(one).tolist() for one in maps))
        return tuple(sorted(found - {self.background, self.ignore_index}))


@dataclass(frozen=True)
class DiagnosedCase:
    """One case: labels as predicted and as they are, (*S) or (C, *S), and probabilities (K, *S) where there are."""

    name: str
    predicted: np.ndarray
    target: np.ndarray
    probabilities: np.ndarray | None = None


@dataclass(frozen=True)
class ClassMeasure:
    """A class in a case; ``dsc`` answers each question, None for a true negative or where nothing can be said."""

    class_id: int
    counts: Counts
    dsc: Mapping[str, float | None]
    components: ComponentErrors
    histogram: ProbabilityHistogram | None = None


@dataclass(frozen=True)
class CaseMeasure:
    """All classes of a case."""

    name: str
    valid_px: int
    classes: tuple[ClassMeasure, ...]


def measure_case(case: DiagnosedCase, problem: Problem, *, temperature: float | None = None) -> CaseMeasure:
    """Measure one case; ``temperature`` is the fitted one, None where there is none."""
    ignored = None if problem.ignore_index is None else case.target == problem.ignore_index
    valid = None if ignored is None or not ignored.any() else ~ignored
    if valid is not None and problem.multilabel:
        valid = valid.all(0)
    decided = _decisions(case, problem, valid, temperature)
    measures = []
    p = None if case.probabilities is None else case.probabilities.astype(np.float32, copy=False)
    valid_px = int(np.prod(case.target.shape[problem.multilabel :]) if valid is None else valid.sum())
    for class_id in problem.scored(case.predicted, case.target):
        regions = {name: problem.region(labels, class_id) for name, labels in decided.items()}
        target = problem.region(case.target, class_id)
        if valid is not None:
            regions, target = {name: one & valid for name, one in regions.items()}, target & valid
        counted = {name: _counts(one, target, valid_px) for name, one in regions.items()}
        answers = {name: dsc(one) for name, one in counted.items()}
        now = counted[NOW]
        answers[MATCHED] = dsc(Counts(min(now.predicted, now.target), now.predicted, now.target, valid_px))
        found = None
        if p is not None:
            of_class = p[problem.channel(class_id)]
            pixels, inside = (of_class.ravel(), target.ravel()) if valid is None else (of_class[valid], target[valid])
            found = histogram(pixels, inside)
            answers[SIZES] = _dsc_at_true_size(pixels, inside, now.target)
        errors = component_errors(regions[NOW], target)
        measures.append(ClassMeasure(class_id, now, answers, errors, found))
    return CaseMeasure(case.name, valid_px, tuple(measures))


def _decisions(
    case: DiagnosedCase, problem: Problem, valid: np.ndarray | None, temperature: float | None
) -> dict[str, np.ndarray]:
    """The labels of each decision, in the form of the label maps."""
    found = {NOW: case.predicted}
    if case.probabilities is None:
        return found
    values = torch.from_numpy(np.ascontiguousarray(case.probabilities))[None]
    mask = None if valid is None else torch.from_numpy(valid)[None]
    for name, degrees in ((DICE, 1.0), (FITTED, temperature)):
        if degrees is None:
            continue
        if name == FITTED and degrees == 1:
            found[FITTED] = found[DICE]
            continue
        labels = decide(
            values,
            activation=problem.activation,
            given="probabilities",
            background=problem.background,
            temperature=degrees,
            mask=mask,
        )[0].numpy()
        labels = labels[0] if problem.activation == "sigmoid" and not problem.multilabel else labels
        found[name] = labels.astype(np.uint8) if len(values[0]) <= 255 else labels
    return found


def _counts(region: np.ndarray, target: np.ndarray, valid_px: int) -> Counts:
    return Counts(
        int(np.count_nonzero(region & target)), int(np.count_nonzero(region)), int(np.count_nonzero(target)), valid_px
    )


def _dsc_at_true_size(p: np.ndarray, inside: np.ndarray, size: int) -> float | None:
    """The share of the ``size`` most probable pixels that is true; of equal ones at the border, that share of them.

    >>> p, inside = np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False])
    >>> _dsc_at_true_size(p, inside, 2)  # the first, and half of the two that are equal: (1 + 0.5) / 2
    0.75
    """
    if size == 0:
        return None
    lowest = np.partition(p, len(p) - size)[len(p) - size]
    above, equal = p > lowest, p == lowest
    left = size - np.count_nonzero(above)
    share = np.count_nonzero(inside & equal) / np.count_nonzero(equal)
    return float((np.count_nonzero(inside & above) + left * share) / size)
