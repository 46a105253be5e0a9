"""A seeded sample of a large grid of cases; the whole grid when SIZEWISE_EXHAUSTIVE=1."""

import os
import random
from collections.abc import Iterable
from itertools import product
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
