"""Pixels of one class by their probability: a few hundred numbers from which every curve follows."""

from dataclasses import dataclass

import numpy as np

BINS = 256
RELIABILITY_BINS = 16  # BINS is a multiple of it


@dataclass(frozen=True)
class ProbabilityHistogram:
    """Sums over pixels whose probability p of one class lies in each of ``BINS`` equal parts of [0, 1].

    Attributes:
        pixels: how many.
        inside: how many of them are truly of the class.
        expected: the sum of p.
    """

    pixels: np.ndarray
    inside: np.ndarray
    expected: np.ndarray

    def __add__(self, other: "ProbabilityHistogram") -> "ProbabilityHistogram":
        return ProbabilityHistogram(
            self.pixels + other.pixels, self.inside + other.inside, self.expected + other.expected
        )

    def dsc_over_threshold(self) -> np.ndarray:
        """(BINS,) DSC of the region {p ≥ j / BINS} for every j, of one case that has the class.

        >>> one = histogram(np.array([0.9, 0.6, 0.2], np.float32), np.array([True, False, False]))
        >>> one.dsc_over_threshold()[[0, 128, 200]].round(3).tolist()  # 2 · 1 / (3 + 1), 2 / (2 + 1), 2 / (1 + 1)
        [0.5, 0.667, 1.0]
        """
        chosen, right = (np.cumsum(one[::-1])[::-1] for one in (self.pixels, self.inside))
        return 2 * right / np.maximum(chosen + right[0], 1)

    def reliability(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pixels, mean p and true share of each of ``RELIABILITY_BINS``; nan where there is no pixel."""
        pixels, inside, expected = (
            one.reshape(RELIABILITY_BINS, -1).sum(1).astype(np.float64)
            for one in (self.pixels, self.inside, self.expected)
        )
        with np.errstate(invalid="ignore"):
            return pixels, expected / pixels, inside / pixels

    def ece(self) -> float:
        """Expected calibration error, one against the rest: Σ_b n_b / n · |share of the class in b − mean p in b|.

        >>> one = histogram(np.array([0.9, 0.9, 0.1, 0.1], np.float32), np.array([True, False, False, False]))
        >>> round(one.ece(), 3)  # (2 · |0.5 − 0.9| + 2 · |0 − 0.1|) / 4
        0.25
        """
        pixels, confidence, share = self.reliability()
        gaps = np.abs(np.nan_to_num(confidence) - np.nan_to_num(share))
        return float((pixels * gaps).sum() / max(1.0, pixels.sum()))


def histogram(p: np.ndarray, inside: np.ndarray) -> ProbabilityHistogram:
    """Of probabilities (n,) and a mask (n,) of the pixels that are truly of the class."""
    bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    return ProbabilityHistogram(
        np.bincount(bins, minlength=BINS),
        np.bincount(bins[inside], minlength=BINS),
        np.bincount(bins, weights=p, minlength=BINS),
    )
