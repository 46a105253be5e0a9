"""What kind of case each is, so that a drawn split has every kind on every side: which classes it has, or none."""

from collections import Counter

import numpy as np

from sizewise.data.dataset import Case, Dataset
from sizewise.errors import BadInput
from sizewise.parallel import map_threads

MOST_KINDS = 8  # more combinations of classes than this would leave too few cases in each
FEWEST_CASES = 5  # of a kind; fewer cannot be on every side
EMPTY = "empty"


def strata_of(dataset: Dataset) -> dict[str, str]:
    """By case, what it is. Where all are alike, or would have to be decoded for long, there are no strata.

    A picture's stratum is the set of its classes, if there are few such sets; else whether it has any. Volumes are not
    read: it would take minutes, and a scan is rarely made of a patient who does not have what is looked for.
    """
    labelled = [case for case in dataset.cases if case.target]
    if dataset.spatial_dims != 2 or not labelled:
        return {}
    return kinds({case.name: classes for case, classes in zip(labelled, _classes(dataset, labelled), strict=True)})


def kinds(classes: dict[str, tuple[int, ...]]) -> dict[str, str]:
    """From the classes that each case has to its stratum.

    >>> found = kinds({f"tumour {i}": (1,) for i in range(20)} | {f"normal {i}": () for i in range(5)})
    >>> found["tumour 7"], found["normal 3"]
    ('classes 1', 'empty')
    >>> kinds({"a": (1,), "b": (1,), "c": ()})
    {}
    """
    if len(set(classes.values())) > MOST_KINDS:
        classes = {case: held and (1,) for case, held in classes.items()}
    counts = Counter(classes.values())
    words = {held: f"classes {','.join(map(str, held))}" if held else EMPTY for held in counts}
    found = {case: words[held] if counts[held] >= FEWEST_CASES else "rare" for case, held in classes.items()}
    return found if len(set(found.values()) - {"rare"}) > 1 else {}


def _classes(dataset: Dataset, cases: list[Case]) -> list[tuple[int, ...]]:
    """The foreground classes that each case has; a damaged file counts as one with all: checking the data names it."""
    sigmoid = dataset.activation == "sigmoid"
    count = len(dataset.classes)

    def held(case: Case) -> tuple[int, ...]:
        try:
            target = dataset.reader.target(case)
        except BadInput:
            return tuple(range(1, count))
        if sigmoid:
            return tuple(int(one) + 1 for one in np.flatnonzero(target.reshape(len(target), -1).any(axis=1)))
        found = np.unique(target)
        return tuple(int(one) for one in found if 0 < one < count and one != dataset.ignore_index)

    return map_threads(held, cases, what="what the masks hold")
