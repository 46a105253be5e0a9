"""Means over cases, then classes, then seeds; the spread is that of the seeds, as in the paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sizewise.report.scores import Scores


@dataclass(frozen=True)
class Mean:
    """A mean over seeds, its standard deviation over them (None with one seed), and how many there are."""

    mean: float
    std: float | None
    seeds: int

    def text(self, *, scale: float = 1.0, digits: int = 2) -> str:
        """As tables have it, in units of 1/``scale``.

        >>> Mean(0.51234, 0.0123, 3).text(scale=100), Mean(0.5, None, 1).text()
        ('51.23 ± 1.23', '0.50')
        """
        spread = "" if self.std is None else f" ± {scale * self.std:.{digits}f}"
        number = f"{round(scale * self.mean, digits) + 0.0:.{digits}f}"  # + 0.0: no negative zero
        return f"{number}{spread}".replace("-", "−")


def class_means(scores: Scores, metric: str) -> dict[tuple[int, int, int], Mean]:
    """By (setting, arm, class): the mean over cases that have a value, over seeds."""
    part = scores.of(metric).known
    keys, means, _ = group_means([part.setting, part.arm, part.class_id, part.seed], part.value)
    return _over_seeds(list(zip(*(key.tolist() for key in keys[:3]), strict=True)), means)


def overall_means(scores: Scores, metric: str, *, absolute: bool = False) -> dict[tuple[int, int], Mean]:
    """By (setting, arm): over the classes as well, each counting the same."""
    part = scores.of(metric).known
    value = np.abs(part.value) if absolute else part.value
    keys, means, _ = group_means([part.setting, part.arm, part.seed, part.class_id], value)
    keys, means, _ = group_means(keys[:3], means)
    return _over_seeds(list(zip(*(key.tolist() for key in keys[:2]), strict=True)), means)


def case_scores(scores: Scores, metric: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(setting, arm, seed, case, value): each case's mean over the classes that have a value there."""
    part = scores.of(metric).known
    keys, means, _ = group_means([part.setting, part.arm, part.seed, part.case], part.value)
    return keys[0], keys[1], keys[2], keys[3], means


def group_means(keys: Sequence[np.ndarray], values: np.ndarray) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The mean of the values that share their keys: (unique keys, means, counts). Values must be numbers.

    >>> keys, means, counts = group_means([np.array([0, 0, 1])], np.array([1.0, 3.0, 5.0]))
    >>> keys[0].tolist(), means.tolist(), counts.tolist()
    ([0, 1], [2.0, 5.0], [2, 1])
    """
    if not len(values):
        return [np.zeros(0, dtype=np.int64) for _ in keys], np.zeros(0), np.zeros(0, dtype=np.int64)
    joined = np.zeros(len(values), dtype=np.int64)
    for key in keys:
        joined = joined * (int(key.max()) + 1) + key
    _, first, place = np.unique(joined, return_index=True, return_inverse=True)
    counts = np.bincount(place)
    return [key[first] for key in keys], np.bincount(place, weights=values) / counts, counts


def _over_seeds(keys: list[tuple], values: np.ndarray) -> dict:
    found: dict[tuple, list[float]] = {}
    for key, value in zip(keys, values.tolist(), strict=True):
        found.setdefault(key, []).append(value)
    return {
        key: Mean(float(np.mean(v)), float(np.std(v, ddof=1)) if len(v) > 1 else None, len(v))
        for key, v in found.items()
    }
