"""Means over cases, then classes, then seeds; the spread is that of the seeds, as in the paper."""

from dataclasses import dataclass

import numpy as np

from sizewise.report.scores import Scores, group_means


@dataclass(frozen=True)
class Mean:
    """A mean over seeds, its standard deviation over them (None with one seed), and how many there are."""

    mean: float
    std: float | None
    seeds: int

    def text(self, digits: int = 4) -> str:
        """As tables have it.

        >>> Mean(0.51234, 0.0123, 3).text(), Mean(0.5, None, 1).text(2)
        ('0.5123 ± 0.0123', '0.50')
        """
        spread = "" if self.std is None else f" ± {self.std:.{digits}f}"
        number = f"{round(self.mean, digits) + 0.0:.{digits}f}"  # + 0.0: no negative zero
        return f"{number}{spread}".replace("-", "−")

    def percent(self, digits: int = 2) -> str:
        """The same, of a share.

        >>> Mean(0.51234, 0.0123, 3).percent()
        '51.23 ± 1.23'
        """
        return Mean(100 * self.mean, None if self.std is None else 100 * self.std, self.seeds).text(digits)


def class_means(scores: Scores, metric: str, *, absolute: bool = False) -> dict[tuple[int, int, int], Mean]:
    """By (arena, entry, class): the mean over cases that have a value, over seeds."""
    part = scores.of(metric).known
    value = np.abs(part.value) if absolute else part.value
    keys, means, _ = group_means([part.arena, part.entry, part.class_id, part.seed], value)
    return _over_seeds(list(zip(*(key.tolist() for key in keys[:3]), strict=True)), means)


def overall_means(scores: Scores, metric: str, *, absolute: bool = False) -> dict[tuple[int, int], Mean]:
    """By (arena, entry): over the classes as well, each counting the same."""
    part = scores.of(metric).known
    value = np.abs(part.value) if absolute else part.value
    keys, means, _ = group_means([part.arena, part.entry, part.seed, part.class_id], value)
    keys, means, _ = group_means(keys[:3], means)
    return _over_seeds(list(zip(*(key.tolist() for key in keys[:2]), strict=True)), means)


def case_scores(scores: Scores, metric: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(arena, entry, seed, case, value): each case's mean over the classes that have a value there."""
    part = scores.of(metric).known
    keys, means, _ = group_means([part.arena, part.entry, part.seed, part.case], part.value)
    return keys[0], keys[1], keys[2], keys[3], means


def _over_seeds(keys: list[tuple], values: np.ndarray) -> dict:
    groups: dict[tuple, list[float]] = {}
    for key, value in zip(keys, values.tolist(), strict=True):
        groups.setdefault(key, []).append(value)
    return {
        key: Mean(float(np.mean(v)), float(np.std(v, ddof=1)) if len(v) > 1 else None, len(v))
        for key, v in groups.items()
    }
