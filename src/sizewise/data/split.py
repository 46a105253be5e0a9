"""Who is trained on, who chooses the checkpoint, who is scored: seeded, by group, the same on every machine.

1. The authors' subsets stand. Cases without a label map enter none.
2. Where only train and validation have label maps (AMOS, Cityscapes), the official validation is what papers score: it
   becomes ``test``, and validation is carved out of train, so that the checkpoint is not chosen on the scored cases.
3. Where there is train and test, a tenth of train becomes validation.
4. Where the authors leave the split open, the data set's fractions decide; a validation fraction of 0 (the decathlon's
   80/20) means rule 3 after that.

A group never straddles: the frames of one video, the scans of one patient stay on one side. CVC-ClinicDB is the reason:
its 612 frames come from 29 sequences, and neighbouring frames are nearly the same picture, so a split by frame would
score memory (Bernal et al. 2015, https://doi.org/10.1016/j.compmedimag.2015.02.007).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from sizewise.data.dataset import Case, Dataset
from sizewise.errors import BadInput
from sizewise.wording import counted


@dataclass(frozen=True)
class Split:
    """Names of the cases, sorted. ``validation`` may be empty in tiny data sets, ``train`` and ``test`` never are."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]

    def to_json(self) -> str:
        """As text for the run folder.

        >>> Split.from_json(Split(("a",), (), ("b",)).to_json())
        Split(train=('a',), validation=(), test=('b',))
        """
        return json.dumps(asdict(self), indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> "Split":
        """Read back what ``to_json`` wrote, or what a user wrote in the same form."""
        try:
            content = json.loads(text)
            lists = {field.name: tuple(map(str, content[field.name])) for field in fields(Split)}
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"split: wanted JSON with the lists train, validation and test ({error!r}).") from error
        names = [name for part in lists.values() for name in part]
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise BadInput(f"split: cases are named more than once: {', '.join(twice[:8])}.")
        return Split(**lists)


def split_cases(dataset: Dataset, *, seed: int, validation_from_train: float = 0.1) -> Split:
    """Split a data set by the rules above.

    Args:
        dataset: cases with their official subsets and groups.
        seed: of the shuffle. The order is that of random numbers drawn for the sorted group names; it depends on the
            bit stream of PCG64 alone, which NumPy keeps fixed for all versions.
        validation_from_train: share of train that becomes validation where the data set brings none; 0: none does.

    Raises:
        BadInput: no case has a label map, or one of train and test stays empty.
    """
    if not 0 <= validation_from_train < 1:
        raise BadInput(f"split: validation_from_train must be at least 0 and below 1, got {validation_from_train}.")
    cases = sorted((case for case in dataset.cases if case.target), key=lambda case: case.name)
    if not cases:
        raise BadInput(f"{dataset.name}: no case has a label map, so nothing can be trained or scored.")
    official = {
        subset: [case for case in cases if case.subset == subset] for subset in ("train", "validation", "test", "")
    }
    train, validation, test = official["train"] + official[""], official["validation"], official["test"]
    if train and not validation and not test:
        train, validation, test = _by_fractions(dataset, train, seed)
    if not test:
        test, validation = validation, []
    _check_both(dataset, train, test)
    if not validation and validation_from_train > 0:
        validation, train = _take(train, validation_from_train * len(train), seed=seed, stream=1)
    return Split(_names(train), _names(validation), _names(test))


def _by_fractions(dataset: Dataset, cases: list[Case], seed: int) -> tuple[list[Case], list[Case], list[Case]]:
    total = sum(dataset.fractions)
    test, rest = _take(cases, dataset.fractions[2] / total * len(cases), seed=seed, stream=2)
    if dataset.fractions[1] == 0:
        return rest, [], test
    validation, train = _take(rest, dataset.fractions[1] / total * len(cases), seed=seed, stream=3)
    return train, validation, test


def _take(cases: Sequence[Case], wanted: float, *, seed: int, stream: int) -> tuple[list[Case], list[Case]]:
    """Draw whole groups until about ``wanted`` cases are taken; at least one group is, and at least one is left."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:  # a case alone is its own group; the flag keeps it apart from a group of that name
        groups.setdefault(("group", case.group) if case.group else ("case", case.name), []).append(case)
    if len(groups) < 2 or wanted <= 0:
        return [], list(cases)
    keys = sorted(groups)
    shuffled = [keys[i] for i in _shuffled(len(keys), seed, stream)]
    taken: list[tuple[str, str]] = []
    count = 0
    for key in shuffled:
        size = len(groups[key])
        nearer_with_it = abs(count + size - wanted) < abs(count - wanted)
        if nearer_with_it and len(taken) < len(keys) - 1:
            taken.append(key)
            count += size
    if not taken:
        taken = [min(shuffled, key=lambda key: len(groups[key]))]
    chosen = set(taken)
    return (
        [case for key in keys if key in chosen for case in groups[key]],
        [case for key in keys if key not in chosen for case in groups[key]],
    )


def _shuffled(count: int, seed: int, stream: int) -> np.ndarray:
    """A permutation from raw 64-bit draws: NumPy promises their stream, but not that of ``Generator.permutation``."""
    draws = np.random.PCG64(np.random.SeedSequence([seed, stream])).random_raw(count)
    return np.argsort(draws, kind="stable")


def _check_both(dataset: Dataset, train: list[Case], test: list[Case]) -> None:
    if train and test:
        return
    if not train:
        raise BadInput(
            f"{dataset.name}: no case is left to train on: what is labelled ({counted(len(test), 'case')}) is set "
            "aside for scoring by the data set's own subsets."
        )
    groups = {case.group for case in train}
    if len(train) == 1:
        what = "the one labelled case is all there is"
    elif len(groups) == 1 and "" not in groups:
        what = f"the {len(train)} labelled cases belong to one group"
    else:
        what = f"the {len(train)} labelled cases are all there is"
    raise BadInput(
        f"{dataset.name}: no case is left to score: {what}. At least two (of different groups) are needed: one to "
        "train on, one to score."
    )


def _names(cases: Iterable[Case]) -> tuple[str, ...]:
    return tuple(sorted(case.name for case in cases))
