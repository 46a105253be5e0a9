"""True and predicted region sizes of every case, from the two size errors of the table.

``size_error`` is p − t and ``relative_size_error`` is (p − t) / t, so t is their quotient and p = t + size_error. A
prediction of exactly the right size has 0/0; its truth is that of the same case in another run. Where the target is
empty, the relative error has no value, and t = 0.
"""

from dataclasses import dataclass

import numpy as np

from sizewise.report.scores import Part, Scores, group_means


@dataclass(frozen=True)
class Sizes:
    """Rows with a known truth.

    Attributes:
        part: the rows; their value is p − t.
        true: t, the proportion of the image that is the region.
        unknown: rows that are left out because no run tells their truth: every one was exactly right.
    """

    part: Part
    true: np.ndarray
    unknown: int


def region_sizes(scores: Scores) -> Sizes:
    """The true proportion beside each size error."""
    error, relative = scores.of("size_error"), scores.of("relative_size_error")
    if not len(error.value) or not len(relative.value):
        return Sizes(error.where(np.zeros(len(error.value), bool)), np.zeros(0), len(error.value))
    shared = _key(scores, error, with_run=False)
    # rows of the two metrics meet by run, case and class
    order = np.argsort(_key(scores, relative))
    sorted_keys = _key(scores, relative)[order]
    at = np.clip(np.searchsorted(sorted_keys, _key(scores, error)), 0, len(order) - 1)
    meets = sorted_keys[at] == _key(scores, error)
    of_error = np.where(meets, relative.value[order][at], np.nan)
    absent = meets & ~np.isfinite(of_error) & np.isfinite(error.value)
    told = np.isfinite(of_error) & (of_error != 0) & np.isfinite(error.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.where(told, error.value / of_error, 0.0)
    (keys,), truths, _ = group_means([shared[told | absent]], quotient[told | absent])
    if not len(keys):
        return Sizes(error.where(np.zeros(len(error.value), bool)), np.zeros(0), len(error.value))
    spot = np.clip(np.searchsorted(keys, shared), 0, len(keys) - 1)
    known = (keys[spot] == shared) & np.isfinite(error.value)
    return Sizes(error.where(known), truths[spot][known], int(np.isfinite(error.value).sum() - known.sum()))


def _key(scores: Scores, part: Part, *, with_run: bool = True) -> np.ndarray:
    classes = int(part.class_id.max(initial=0)) + 1
    key = (part.arena.astype(np.int64) * max(1, len(scores.cases)) + part.case) * max(classes, 70_000) + part.class_id
    return (key * len(scores.entries) + part.entry) * len(scores.seeds) + part.seed if with_run else key
