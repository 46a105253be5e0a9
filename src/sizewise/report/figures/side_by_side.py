"""Points of several arms at one place of the axis, drawn side by side so that no bar hides another."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise


def beside(at: int, count: int, ends: Sequence[float]) -> Callable[[float], float]:
    """Moves the points of one curve aside, so that bars at one λ do not hide each other.

    >>> [round(beside(at, 3, [0.1, 1.0, 10.0])(1.0), 3) for at in range(3)]
    [0.871, 1.0, 1.148]
    """
    step = at - (count - 1) / 2
    if ends[0] > 0:  # a logarithmic axis: by a share of the smallest step between neighbours
        nearest = min(math.log(high / low) for low, high in pairwise(ends))
        return lambda value: value * math.exp(min(0.06, 0.3 / count) * nearest * step)
    nearest = min(high - low for low, high in pairwise(ends))
    return lambda value: value + min(0.06, 0.3 / count) * nearest * step
