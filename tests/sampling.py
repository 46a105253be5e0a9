"""A seeded sample of a large grid of cases; the whole grid when SIZEWISE_EXHAUSTIVE=1."""

import os
import random
from collections.abc import Callable, Iterable
from itertools import combinations, product
from typing import TypeVar

Case = TypeVar("Case")
EXHAUSTIVE = os.environ.get("SIZEWISE_EXHAUSTIVE") == "1"


def sample(cases: Iterable[Case], count: int, seed: int = 0) -> list[Case]:
    """All cases when exhaustive, else ``count`` of them: always the same ones for the same seed."""
    cases = list(cases)
    if EXHAUSTIVE or count >= len(cases):
        return cases
    chosen = sorted(random.Random(seed).sample(range(len(cases)), count))
    return [cases[index] for index in chosen]


def grid(options: dict[str, tuple]) -> list[dict]:
    """Every combination of the values of each option."""
    return [dict(zip(options, values, strict=True)) for values in product(*options.values())]


def covering(cases: Iterable[Case], factors: Callable[[Case], tuple] = tuple) -> list[Case]:
    """All cases when exhaustive, else few of them, see :func:`with_every_pair`."""
    cases = list(cases)
    return cases if EXHAUSTIVE else with_every_pair(cases, factors)


def with_every_pair(cases: list[Case], factors: Callable[[Case], tuple] = tuple) -> list[Case]:
    """Few cases in which every two values of ``factors`` that meet in some case meet.

    >>> with_every_pair([(a, b, c) for a in "xy" for b in "uv" for c in "pq"])
    [('x', 'u', 'p'), ('x', 'v', 'q'), ('y', 'u', 'q'), ('y', 'v', 'p')]
    """
    bits: dict[tuple, int] = {}
    pairs = []  # of each case, as the bits of a number
    for case in cases:
        met = combinations(enumerate(factors(case)), 2)
        pairs.append(sum(1 << bits.setdefault(pair, len(bits)) for pair in met))
    missing, chosen = (1 << len(bits)) - 1, []
    while missing:
        best = max(range(len(cases)), key=lambda place: (pairs[place] & missing).bit_count())
        missing &= ~pairs[best]
        chosen.append(best)
    return [cases[place] for place in sorted(chosen)]
