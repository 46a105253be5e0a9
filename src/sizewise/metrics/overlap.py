"""How far two regions cover each other: DSC and IoU, from three counts of pixels."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """Pixels of one class in one case, or summed over cases. Only valid pixels are counted.

    Attributes:
        intersection: pixels in both regions.
        predicted: pixels of the predicted region.
        target: pixels of the true region.
        valid: all pixels that are not ignored, of whatever class.
    """

    intersection: int
    predicted: int
    target: int
    valid: int

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.intersection + other.intersection,
            self.predicted + other.predicted,
            self.target + other.target,
            self.valid + other.valid,
        )


def dsc(counts: Counts) -> float | None:
    """Dice similarity coefficient, 2 I / (P + T); None when both regions are empty (see ``policy``).

    >>> dsc(Counts(intersection=2, predicted=3, target=5, valid=100))
    0.5
    """
    return 2 * counts.intersection / total if (total := counts.predicted + counts.target) else None


def iou(counts: Counts) -> float | None:
    """Intersection over union, I / (P + T − I); None when both regions are empty (see ``policy``).

    >>> iou(Counts(intersection=2, predicted=3, target=5, valid=100))
    0.3333333333333333
    """
    union = counts.predicted + counts.target - counts.intersection
    return counts.intersection / union if union else None


def pool(counts: Iterable[Counts]) -> Counts:
    """Sum the counts of many cases: ``dsc(pool(...))`` is the score of the data set read as one large image.

    A large region then weighs more than a small one; the mean of the cases' scores weighs every case alike.

    >>> cases = [Counts(1, 1, 1, 100), Counts(0, 0, 2, 100)]
    >>> dsc(pool(cases)), [dsc(case) for case in cases]
    (0.5, [1.0, 0.0])
    """
    return sum(counts, start=Counts(0, 0, 0, 0))
