"""Keep only the largest component of a class: where that scores better on the validation cases, and nowhere else.

A small second region may be a mistake or the very lesion that is looked for. So it is never assumed: each class is
tried on the validation cases, and ``components.json`` in the run folder keeps what was found, for each way of deciding.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sizewise.connected_components import label_components
from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.metrics.case import score_case, score_channels

FILE = "components.json"
NO_DISTANCES: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kept:
    """What the validation cases said.

    Attributes:
        how: what the labels were made with: the decision, flips, overlap, and the epoch of the weights.
        classes: of which only the largest component is kept.
        gain: of each scored class, in mean validation DSC; None where no case has the class.
        cases: validation cases.
    """

    how: dict[str, Any]
    classes: tuple[int, ...]
    gain: dict[int, float | None]
    cases: int


def largest_only(labels: np.ndarray, classes: Iterable[int], *, multilabel: bool = False) -> np.ndarray:
    """The label map with only the largest component of each of ``classes``; what is dropped becomes background, 0.

    Pixels that touch, at corners too, are one component; of equal ones the first stays. Multi-label maps are (C, *S),
    with the channels counted from 1.

    >>> largest_only(np.array([[1, 0, 1, 1], [0, 0, 2, 0]]), [1]).tolist()
    [[0, 0, 1, 1], [0, 0, 2, 0]]
    """
    kept = labels.copy()
    for k in classes:
        place, value = (k - 1, 1) if multilabel else (..., k)
        region = kept[place] == value
        found, count = label_components(region)
        if count > 1:
            sizes = np.bincount(found.ravel())[1:]
            kept[place][region & (found != 1 + int(sizes.argmax()))] = 0
    return kept


@dataclass(frozen=True)
class Truth:
    """A validation case as it is labelled now, and as it should be."""

    labels: np.ndarray
    target: np.ndarray
    spacing: tuple[float, ...]


def tune(
    cases: Iterable[Truth],
    classes: Sequence[int],
    *,
    multilabel: bool,
    ignore_index: int | None,
    how: dict[str, Any],
) -> Kept:
    """Try each class alone: a dropped component becomes background, which no score counts, so none affects another."""
    gains: dict[int, list[float]] = {k: [] for k in classes}
    count = 0
    for case in cases:
        count += 1
        smaller = largest_only(case.labels, classes, multilabel=multilabel)
        before, after = (
            _dsc(labels, case, classes, multilabel=multilabel, ignore_index=ignore_index)
            for labels in (case.labels, smaller)
        )
        for k in before.keys() & after.keys():
            gains[k].append(after[k] - before[k])
    gain = {k: float(np.mean(values)) if values else None for k, values in gains.items()}
    chosen = tuple(k for k, value in gain.items() if value is not None and value > 0)
    return Kept(how, chosen, gain, count)


def _dsc(
    labels: np.ndarray, case: Truth, classes: Sequence[int], *, multilabel: bool, ignore_index: int | None
) -> dict[int, float]:
    """By class, of those that have a value."""
    score = score_channels if multilabel else partial(score_case, classes=classes)
    found = score(
        labels, case.target, spacing=case.spacing, nsd_tolerance=1.0, ignore_index=ignore_index, metrics=NO_DISTANCES
    )
    values = {one.class_id: one.values()["dsc"] for one in found}
    return {k: value for k, value in values.items() if value is not None}


def remembered(folder: Path, how: dict[str, Any], find: Callable[[], Kept]) -> Kept:
    """What ``components.json`` says of labels made like this; else what ``find`` finds, which is then added to it."""
    entries = list(_read(folder / FILE))
    for entry in entries:
        if entry.how == how:
            return entry
    found = find()
    entries = [entry for entry in entries if entry.how["epoch"] == how["epoch"]]  # others are of weights that are gone
    write_whole(folder / FILE, json.dumps([asdict(entry) for entry in (*entries, found)], indent=1))
    return found


def _read(path: Path) -> Iterator[Kept]:
    if not path.exists():
        return
    try:
        for entry in json.loads(path.read_text(encoding="utf-8")):
            gain = {int(k): value for k, value in entry["gain"].items()}
            entry["how"]["epoch"]
            yield Kept(entry["how"], tuple(map(int, entry["classes"])), gain, int(entry["cases"]))
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise BadInput(f"{path} cannot be read: {error}. Remove it: components are then tried again.") from error
