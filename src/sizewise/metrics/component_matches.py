"""Which components were found: recall and precision of connected components, in all and by size.

A true component is found where the predicted class has at least one of its pixels; a predicted component is right where
the true class has at least one of its pixels. Without a true component there is no recall: no value. Without a
predicted one precision is 0 where there was something to find, so that to miss a structure never improves it, and has
no value elsewhere and by size. Thirds are those of the sizes, in pixels, of the data set's true components of the
class: with n of them, the ⌈n/3⌉-th and the ⌈2n/3⌉-th smallest are the largest small and the largest medium size.
Predicted components are sorted by the same two sizes, so that thirds mean the same for every model.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import find_objects

from sizewise.connected_components import label_components

THIRDS = ("small", "medium", "large")


@dataclass(frozen=True)
class Matches:
    """The components of one mask: the size of each in pixels, and whether the other mask has a pixel of it."""

    sizes_px: tuple[int, ...] = ()
    met: tuple[bool, ...] = ()

    @property
    def share(self) -> float | None:
        """The share of components that are met; None without any.

        >>> Matches((5, 9), (True, False)).share
        0.5
        """
        return sum(self.met) / len(self.met) if self.met else None

    def within(self, limits: tuple[float, float]) -> "Matches":
        """Those above the first size and not above the second.

        >>> Matches((5, 9), (True, False)).within((5, math.inf))
        Matches(sizes_px=(9,), met=(False,))
        """
        kept = [(size, met) for size, met in zip(self.sizes_px, self.met, strict=True) if limits[0] < size <= limits[1]]
        return Matches(tuple(size for size, _ in kept), tuple(met for _, met in kept))


@dataclass(frozen=True)
class ComponentMatches:
    """The true components that were found, and the predicted ones that are right."""

    true: Matches = Matches()
    predicted: Matches = Matches()


def within(found: ComponentMatches, limits: tuple[float, float]) -> ComponentMatches:
    """The components of both sides between two sizes."""
    return ComponentMatches(found.true.within(limits), found.predicted.within(limits))


def recall(found: ComponentMatches) -> float | None:
    """The share of true components that were found."""
    return found.true.share


def precision(found: ComponentMatches) -> float | None:
    """The share of predicted components that are right; 0 where all was missed."""
    return 0.0 if found.true.met and not found.predicted.met else found.predicted.share


def precision_of_third(found: ComponentMatches) -> float | None:
    """The same among the components of one size."""
    return found.predicted.share


def match_components(predicted: np.ndarray, target: np.ndarray) -> ComponentMatches:
    """Match the components of two bool masks of one shape.

    >>> found = match_components(np.array([1, 1, 0, 0, 0, 1], bool), np.array([0, 1, 1, 0, 1, 0], bool))
    >>> found.true, found.predicted
    (Matches(sizes_px=(2, 1), met=(True, False)), Matches(sizes_px=(2, 1), met=(True, False)))
    """
    return ComponentMatches(_matches(target, predicted), _matches(predicted, target))


def size_thirds(sizes_px: Iterable[int]) -> tuple[float, float] | None:
    """The largest size of a small and of a medium component; None without any.

    >>> size_thirds([7, 1, 2, 9, 4, 4])
    (2.0, 4.0)
    """
    ordered = sorted(sizes_px)
    if not ordered:
        return None
    return tuple(float(ordered[math.ceil(len(ordered) * part / 3) - 1]) for part in (1, 2))  # type: ignore[return-value]


def third_limits(third: str, thirds: tuple[float, float]) -> tuple[float, float]:
    """Above which size, and up to which, a third's components are.

    >>> third_limits("medium", (2.0, 4.0))
    (2.0, 4.0)
    """
    return {"small": (0.0, thirds[0]), "medium": thirds, "large": (thirds[1], math.inf)}[third]


def _matches(mask: np.ndarray, other: np.ndarray) -> Matches:
    if not mask.any():
        return Matches()
    box = find_objects(mask.view(np.uint8))[0]  # the rest of a volume takes longer than its region
    numbers, count = label_components(mask[box])
    sizes = np.bincount(numbers.ravel(), minlength=count + 1)[1:]
    met = np.bincount(numbers[other[box]], minlength=count + 1)[1:] > 0
    return Matches(tuple(sizes.tolist()), tuple(met.tolist()))
