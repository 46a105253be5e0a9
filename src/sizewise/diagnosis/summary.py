"""The numbers of one class, or of all, in a diagnosis."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sizewise.diagnosis.case_measure import NOW, QUESTIONS
from sizewise.diagnosis.collected import Collected, Gain, gains
from sizewise.diagnosis.probability_histogram import BINS
from sizewise.report.figures.size_agreement import agreement


@dataclass(frozen=True)
class Thresholds:
    """Mean DSC of {p ≥ threshold} over the cases that have the class.

    Attributes:
        now: DSC of these cases as predicted.
        best: the threshold with the largest mean, and ``best_dsc`` that mean.
        half: half of ``best_dsc``: where the best one lies if the probabilities are calibrated; ``half_dsc`` is there.
        curve: the mean at j / BINS.
    """

    now: float
    best: float
    best_dsc: float
    half: float
    half_dsc: float
    curve: np.ndarray


@dataclass(frozen=True)
class ClassSummary:
    """One class.

    Attributes:
        class_id: its id.
        name: its name.
        cases: that have the class in truth.
        dsc: mean over cases, by the policy of ``sizewise.metrics.policy``.
        bias: mean of predicted minus true proportion of the image; ``lower`` and ``upper`` limit 95 % of the cases.
        relative: that, as a share of the mean true proportion.
        true_parts, missed, predicted_parts, invented: connected components.
        ece: expected calibration error; nan without probabilities.
        expected_size: Σp / Σ true pixels: what the probabilities say of the size; nan without.
        thresholds: None without probabilities, or where no case has the class.
        gains: of each question.
    """

    class_id: int
    name: str
    cases: int
    dsc: float
    bias: float
    lower: float
    upper: float
    relative: float
    true_parts: int
    missed: int
    predicted_parts: int
    invented: int
    ece: float
    expected_size: float
    thresholds: Thresholds | None
    gains: Mapping[str, Gain]


def summarise(found: Collected, names: Mapping[int, str]) -> list[ClassSummary]:
    """Every class, by id."""
    return [_summary(found, class_id, names.get(class_id) or f"class {class_id}") for class_id in found.classes]


def _summary(found: Collected, class_id: int, name: str) -> ClassSummary:
    one = found.classes[class_id]
    predicted, true = found.sizes(class_id)
    size = agreement(predicted - true)
    now = np.array([row[3] for row in one.rows.values()])
    histogram, parts = one.histogram, one.components
    inside = 0 if histogram is None else int(histogram.inside.sum())
    return ClassSummary(
        class_id=class_id,
        name=name,
        cases=int(np.count_nonzero(true)),
        dsc=float(np.nanmean(now)) if not np.isnan(now).all() else math.nan,
        bias=size.bias,
        lower=size.lower,
        upper=size.upper,
        relative=size.bias / float(true.mean()) if true.any() else math.nan,
        true_parts=int(parts.true.sum()),
        missed=int(parts.missed.sum()),
        predicted_parts=int(parts.predicted.sum()),
        invented=int(parts.invented.sum()),
        ece=math.nan if histogram is None else histogram.ece(),
        expected_size=float(histogram.expected.sum() / inside) if histogram is not None and inside else math.nan,
        thresholds=_thresholds(found, class_id),
        gains=gains(found, [class_id]),
    )


def _thresholds(found: Collected, class_id: int) -> Thresholds | None:
    one = found.classes[class_id]
    if one.curve is None or not one.present:
        return None
    curve = one.curve / one.present
    present = [row[3 + QUESTIONS.index(NOW)] for row in one.rows.values() if row[1]]
    best = int(np.argmax(curve))
    half = float(curve[best]) / 2
    return Thresholds(
        float(np.mean(present)), best / BINS, float(curve[best]), half, float(curve[round(half * BINS)]), curve
    )
