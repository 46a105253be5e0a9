"""What many cases add up to: a row for each case and class, and sums that do not grow with their number."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sizewise.diagnosis.case_measure import NOW, QUESTIONS, CaseMeasure, ClassMeasure
from sizewise.diagnosis.component_errors import ComponentErrors
from sizewise.diagnosis.probability_histogram import ProbabilityHistogram

COLUMNS = ("case", "class", "valid_px", "predicted_px", "true_px", *(f"dsc_{name}" for name in QUESTIONS))


@dataclass
class ClassCollection:
    """One class over the cases.

    Attributes:
        rows: of each case that met the class, by its number: predicted and true pixels, valid pixels, and the DSC of
            each question (nan where there is none).
        components: summed.
        histogram: of all pixels; None without probabilities.
        curve: the sum of DSC over the threshold, of the cases that have the class.
        present: how many these are.
    """

    rows: dict[int, tuple[float, ...]]
    components: ComponentErrors
    histogram: ProbabilityHistogram | None
    curve: np.ndarray | None
    present: int

    @classmethod
    def begun(cls, one: ClassMeasure) -> "ClassCollection":
        """Empty sums of the form of a first measure."""
        zeros = np.zeros_like(one.components.true)
        pixels = None if one.histogram is None else np.zeros_like(one.histogram.pixels)
        empty = None if pixels is None else ProbabilityHistogram(pixels, pixels, pixels)
        curve = None if pixels is None else np.zeros(len(pixels))
        return cls({}, ComponentErrors(zeros, zeros, zeros, zeros), empty, curve, 0)

    def add(self, number: int, one: ClassMeasure) -> None:
        """Take one case in."""
        answers = (one.dsc.get(name) for name in QUESTIONS)
        sizes = (one.counts.predicted, one.counts.target, one.counts.valid)
        self.rows[number] = (*sizes, *(math.nan if value is None else value for value in answers))
        self.components = self.components + one.components
        if one.histogram is not None and self.histogram is not None and self.curve is not None:
            self.histogram = self.histogram + one.histogram
            if one.counts.target:
                self.curve, self.present = self.curve + one.histogram.dsc_over_threshold(), self.present + 1


@dataclass(frozen=True)
class Collected:
    """All classes over all cases."""

    cases: tuple[str, ...]
    valid_px: tuple[int, ...]
    classes: Mapping[int, ClassCollection]
    questions: tuple[str, ...]

    def sizes(self, class_id: int) -> tuple[np.ndarray, np.ndarray]:
        """Predicted and true proportions of the image, of every case; a class that a case does not hold is 0 in both.

        Cases without a valid pixel are none.
        """
        rows = self.classes[class_id].rows
        valid = np.array(self.valid_px, dtype=np.float64)
        both = np.array([rows.get(number, (0.0, 0.0))[:2] for number in range(len(self.cases))])
        kept = valid > 0
        return both[kept, 0] / valid[kept], both[kept, 1] / valid[kept]

    def dsc(self, class_id: int) -> dict[str, np.ndarray]:
        """The DSC of each question for every case, nan for a true negative under all of them.

        A question under which a class stays rightly empty counts as 1 where another one raises a false alarm, as in
        every paired comparison.
        """
        rows = self.classes[class_id].rows
        none = (math.nan,) * (3 + len(QUESTIONS))
        table = np.array([rows.get(number, none)[3:] for number in range(len(self.cases))])
        asked = [QUESTIONS.index(name) for name in self.questions]
        known = ~np.isnan(table[:, asked]).all(1)
        return {
            QUESTIONS[at]: np.where(known & np.isnan(table[:, at]), 1.0, np.where(known, table[:, at], np.nan))
            for at in asked
        }

    def table(self, names: Mapping[int, str]) -> list[list[object]]:
        """The rows of ``diagnosis.csv``, by ``COLUMNS``."""
        found: list[list[object]] = []
        for class_id, one in sorted(self.classes.items()):
            for number, (predicted, true, valid, *answers) in sorted(one.rows.items()):
                shown = ["" if math.isnan(value) else f"{value:.6f}" for value in answers]
                found.append(
                    [self.cases[number], names.get(class_id, class_id), int(valid), int(predicted), int(true), *shown]
                )
        return found


@dataclass(frozen=True)
class Gain:
    """DSC of a question and what it gains over the predictions, with its standard error over cases, as shares."""

    dsc: float
    gain: float
    error: float

    @property
    def shown(self) -> bool:
        """Whether the gain is above what chance explains: twice its standard error."""
        return self.gain > 2 * self.error


def collect(measures: Iterable[CaseMeasure]) -> Collected:
    """Add up cases, one at a time."""
    names, valid, classes = [], [], {}
    asked: set[str] = set()
    for number, case in enumerate(measures):
        names.append(case.name)
        valid.append(case.valid_px)
        for one in case.classes:
            if one.class_id not in classes:
                classes[one.class_id] = ClassCollection.begun(one)
            classes[one.class_id].add(number, one)
            asked |= set(one.dsc)
    return Collected(
        tuple(names),
        tuple(valid),
        dict(sorted(classes.items())),
        tuple(one for one in QUESTIONS if one in asked),
    )


def gains(found: Collected, classes: Iterable[int] | None = None) -> dict[str, Gain]:
    """The mean over cases, then over classes, for each question; classes that no case has are left out."""
    tables = [found.dsc(one) for one in (found.classes if classes is None else classes)]
    tables = [one for one in tables if not np.isnan(one[NOW]).all()]
    answers = {}
    for name in found.questions if tables else ():
        spread = np.zeros(len(found.cases))  # what each case adds to the mean of the gains, less the mean
        for one in tables:
            gain = one[name] - one[NOW]
            spread += np.nan_to_num(gain - np.nanmean(gain)) / np.count_nonzero(~np.isnan(gain)) / len(tables)
        cases = int(np.count_nonzero(~np.isnan([one[NOW] for one in tables]).all(0)))
        scale = cases / (cases - 1) if cases > 1 else math.nan
        mean = float(np.mean([np.nanmean(one[name]) for one in tables]))
        now = float(np.mean([np.nanmean(one[NOW]) for one in tables]))
        answers[name] = Gain(mean, mean - now, float(np.sqrt((spread**2).sum() * scale)))
    return answers
