"""Who is trained on, who chooses the checkpoint, who is scored: seeded, by group, the same on every machine.

1. The authors' subsets stand. Cases without a label map enter none.
2. Where only train and validation have label maps (AMOS, Cityscapes), the official validation is what papers score: it
   becomes ``test``, and validation is carved out of train, so that the checkpoint is not chosen on the scored cases.
3. Where there is train and test, a tenth of train becomes validation.
4. Where the authors leave the split open, the data set's fractions decide; a validation fraction of 0 (the decathlon's
   80/20) means rule 3 after that. If that tests fewer than the 10 groups that a verdict needs, 10 groups are tested,
   as long as they are at most 40 % of all.
5. What the user asks for goes before all of these: a table, a share of all labelled cases, or folds of them.

A group never straddles: the frames of one video, the scans of one patient stay on one side. CVC-ClinicDB is the reason:
its 612 frames come from 29 sequences, and neighbouring frames are nearly the same picture, so a split by frame would
score memory (Bernal et al. 2015, https://doi.org/10.1016/j.compmedimag.2015.02.007).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from sizewise.data.dataset import Case, Dataset, Subset
from sizewise.data.split_draw import deal, group_cases, take
from sizewise.errors import BadInput
from sizewise.json_files import check_kinds, read_json
from sizewise.wording import counted

ENOUGH_GROUPS = 10  # below this the statistics of a study say nothing
LARGEST_SHARE = 0.4  # of the groups that may be tested for the sake of a verdict


@dataclass(frozen=True)
class Split:
    """Names of the cases, sorted. ``validation`` may be empty in tiny data sets, ``train`` and ``test`` never are."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]

    def to_json(self) -> str:
        """As text for the run folder."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @staticmethod
    def read(path: Path) -> "Split":
        """What ``to_json`` wrote to a file, or what a user wrote in the same form."""
        content = read_json(path)
        check_kinds(content, {field.name: list for field in fields(Split)}, path)
        lists = {field.name: tuple(map(str, content[field.name])) for field in fields(Split)}
        names = [name for part in lists.values() for name in part]
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise BadInput(f"split: cases are named more than once: {', '.join(twice[:8])}.")
        return Split(**lists)


def split_cases(
    dataset: Dataset,
    *,
    seed: int,
    validation_from_train: float = 0.1,
    strata: Mapping[str, str] | None = None,
    table: Mapping[str, Subset] | None = None,
    test_share: float | None = None,
    folds: int = 0,
    fold: int = 0,
) -> Split:
    """Split a data set by the rules above.

    Args:
        dataset: cases with their official subsets and groups.
        seed: of the shuffle. The order is that of random numbers drawn for the sorted group names; it depends on the
            bit stream of PCG64 alone, which NumPy keeps fixed for all versions.
        validation_from_train: share of train that becomes validation where the data set brings none; 0: none does.
        strata: by case, what it is (``sizewise.data.strata``); what is drawn has each kind in its share.
        table: by case, its subset; empty: in none.
        test_share: share of all labelled cases that is tested, whatever their official subsets are.
        folds: of a cross-validation over all labelled cases; 0: none.
        fold: which of them is tested, from 0.

    Raises:
        BadInput: no case has a label map, one of train and test stays empty, or the table parts a group.
    """
    if not 0 <= validation_from_train < 1:
        raise BadInput(f"split: validation_from_train must be at least 0 and below 1, got {validation_from_train}.")
    cases = _labelled(dataset)
    if not cases:
        raise BadInput(f"{dataset.name}: no case has a label map, so nothing can be trained or scored.")
    validation: list[Case] = []
    stream = 1
    if table is not None:
        _refuse_parted(cases, table)
        train, validation, test = (
            [case for case in cases if table[case.name] == subset] for subset in ("train", "validation", "test")
        )
    elif folds:
        train, test = _fold(dataset, cases, folds, fold, seed, strata)
        stream = 10 + fold
    elif test_share is not None:
        test, train = take(cases, test_share * len(cases), seed=seed, stream=2, strata=strata)
    else:
        train, validation, test = _by_subsets(dataset, cases, seed, strata)
    _check_both(dataset, train, test)
    if not validation and validation_from_train > 0:
        wanted = validation_from_train * len(train)
        validation, train = take(train, wanted, seed=seed, stream=stream, strata=strata)
    return Split(_names(train), _names(validation), _names(test))


def official_test(dataset: Dataset) -> bool:
    """Whether the data set's own subsets say what is tested."""
    return any(case.subset in ("validation", "test") for case in _labelled(dataset))


def _labelled(dataset: Dataset) -> list[Case]:
    return sorted((case for case in dataset.cases if case.target), key=lambda case: case.name)


def _by_subsets(
    dataset: Dataset, cases: list[Case], seed: int, strata: Mapping[str, str] | None
) -> tuple[list[Case], list[Case], list[Case]]:
    official = {
        subset: [case for case in cases if case.subset == subset] for subset in ("train", "validation", "test", "")
    }
    train, validation, test = official["train"] + official[""], official["validation"], official["test"]
    if train and not validation and not test:
        train, validation, test = _by_fractions(dataset, train, seed, strata)
    if not test:
        test, validation = validation, []
    return train, validation, test


def _by_fractions(
    dataset: Dataset, cases: list[Case], seed: int, strata: Mapping[str, str] | None
) -> tuple[list[Case], list[Case], list[Case]]:
    total = sum(dataset.fractions)
    enough = ENOUGH_GROUPS if LARGEST_SHARE * len(group_cases(cases)) >= ENOUGH_GROUPS else 0
    wanted = dataset.fractions[2] / total * len(cases)
    test, rest = take(cases, wanted, seed=seed, stream=2, strata=strata, fewest_groups=enough)
    if dataset.fractions[1] == 0:
        return rest, [], test
    validation, train = take(rest, dataset.fractions[1] / total * len(cases), seed=seed, stream=3, strata=strata)
    return train, validation, test


def _fold(
    dataset: Dataset, cases: list[Case], folds: int, fold: int, seed: int, strata: Mapping[str, str] | None
) -> tuple[list[Case], list[Case]]:
    """What is trained on and what is tested in one fold; over all folds every case is tested once."""
    groups = len(group_cases(cases))
    if groups < folds:
        raise BadInput(
            f"{dataset.name}: `folds={folds}` needs as many groups of labelled cases, there are {groups}. Give fewer."
        )
    dealt = deal(cases, folds, seed=seed, strata=strata)
    return [case for at, part in enumerate(dealt) if at != fold for case in part], dealt[fold]


def _refuse_parted(cases: list[Case], table: Mapping[str, Subset]) -> None:
    for (kind, group), members in group_cases(cases).items():
        sides = sorted({table[case.name] for case in members} - {""})
        if kind == "group" and len(sides) > 1:
            raise BadInput(
                f"`split`: the group '{group}' is in {' and '.join(sides)}. Cases that belong together must be on one "
                "side: correct the table, or `groups`."
            )


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
        "train on, one to score. A `split` has to give some to test."
    )


def _names(cases: Iterable[Case]) -> tuple[str, ...]:
    return tuple(sorted(case.name for case in cases))
