"""Connected parts of a region that were missed, and parts that were invented, by size."""

from dataclasses import dataclass

import numpy as np

from sizewise.metrics.component_matches import Matches, match_components

SIZES = 16  # the last group is open: 4¹⁵ pixels and more


@dataclass(frozen=True)
class ComponentErrors:
    """Counts by size; group g is of 4^g to 4^(g + 1) − 1 pixels.

    Attributes:
        true: parts of the true region.
        missed: those of them of which no pixel was predicted.
        predicted: parts of the predicted region.
        invented: those of them of which no pixel is true.
    """

    true: np.ndarray
    missed: np.ndarray
    predicted: np.ndarray
    invented: np.ndarray

    def __add__(self, other: "ComponentErrors") -> "ComponentErrors":
        return ComponentErrors(
            self.true + other.true,
            self.missed + other.missed,
            self.predicted + other.predicted,
            self.invented + other.invented,
        )


def component_errors(predicted: np.ndarray, target: np.ndarray) -> ComponentErrors:
    """Of two masks (*S); pixels that touch at a corner belong together.

    >>> target = np.array([[1, 1, 0, 0, 1]], dtype=bool)
    >>> found = component_errors(np.array([[0, 1, 0, 0, 0]], dtype=bool), target)
    >>> found.true[0].item(), found.missed[0].item(), found.invented.sum().item()
    (2, 1, 0)
    """
    found = match_components(predicted, target)
    return ComponentErrors(*_by_size(found.true), *_by_size(found.predicted))


def size_words(group: int) -> str:
    """The sizes of a group, short enough to stand below an axis: k is 1,024, M is 1,024 k.

    >>> size_words(0), size_words(2), size_words(5), size_words(9), size_words(SIZES - 1)
    ('1–3', '16–63', '1k–4k', '256k–1M', '1024M+')
    """
    if group == SIZES - 1:
        return f"{_short(4**group)}+"
    return f"{_short(4**group)}–{4 ** (group + 1) - 1 if group < 5 else _short(4 ** (group + 1))}"


def _short(pixels: int) -> str:
    return next(f"{pixels // unit}{word}" for unit, word in ((1 << 20, "M"), (1 << 10, "k"), (1, "")) if pixels >= unit)


def _by_size(parts: Matches) -> tuple[np.ndarray, np.ndarray]:
    """How many there are of each size, and how many of them the other mask does not touch."""
    sizes, met = np.array(parts.sizes_px, dtype=np.float64), np.array(parts.met, dtype=bool)
    groups = np.minimum((np.frexp(sizes)[1] - 1) // 2, SIZES - 1)
    return np.bincount(groups, minlength=SIZES), np.bincount(groups[~met], minlength=SIZES)
