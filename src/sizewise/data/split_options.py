"""What a user may say about the split: a table, a share, or folds; checked together, then drawn."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sizewise.data.case_groups import read_pairs
from sizewise.data.dataset import Dataset, Subset
from sizewise.data.split import Split, official_test, split_cases
from sizewise.data.strata import strata_of
from sizewise.errors import BadInput

_WORDS: dict[str, Subset] = {
    "train": "train", "training": "train", "validation": "validation", "val": "validation", "valid": "validation",
    "test": "test", "testing": "test", "": "", "none": "",
}  # fmt: skip


@dataclass(frozen=True)
class SplitOptions:
    """Which cases are for what, where the data set's own subsets and fractions are not to decide it.

    Attributes:
        seed: of whatever is drawn.
        table: the path of a CSV with the columns case and subset; empty: none.
        test_share: of all labelled cases; None: the data set's.
        folds: of a cross-validation; 0: none.
        fold: which of them is the test set, from 0.
    """

    seed: int = 0
    table: str = ""
    test_share: float | None = None
    folds: int = 0
    fold: int = 0

    def __post_init__(self) -> None:
        given = [
            name
            for name, there in (
                ("`split`", bool(self.table)),
                ("`test_share`", self.test_share is not None),
                ("`folds`", bool(self.folds)),
            )
            if there
        ]
        if len(given) > 1:
            raise BadInput(f"{' and '.join(given)} each say which cases are tested. Give one of them.")
        if self.test_share is not None and not 0 < self.test_share < 1:
            raise BadInput(f"`test_share` is a share of the cases, above 0 and below 1, got {self.test_share:g}.")
        if self.folds and self.folds < 2:
            raise BadInput(f"`folds` must be at least 2, as 5, or 0 for one split, got {self.folds}.")
        if self.fold and not 0 <= self.fold < self.folds:
            raise BadInput(
                f"`fold` counts from 0 to one less than `folds`, got {self.fold} of {self.folds}. Leave it out for the "
                "first."
            )


def drawn(dataset: Dataset, options: SplitOptions) -> bool:
    """Whether the test cases are drawn here, rather than named by the data set's authors or by a table."""
    asked = bool(options.folds) or options.test_share is not None
    return not options.table and (asked or not official_test(dataset))


def make_split(dataset: Dataset, options: SplitOptions, *, strata: Mapping[str, str] | None = None) -> Split:
    """The split that the options ask for.

    Args:
        dataset: opened, and grouped.
        options: what the user says.
        strata: by case, what it is, where that is known already; None: it is read from the masks, if something is drawn
            that it matters for.
    """
    if options.table:
        table = read_split(Path(options.table), dataset)
        return split_cases(dataset, seed=options.seed, table=table)
    if drawn(dataset, options) and strata is None:
        strata = strata_of(dataset)
    return split_cases(
        dataset,
        seed=options.seed,
        strata=strata if drawn(dataset, options) else None,
        test_share=options.test_share,
        folds=options.folds,
        fold=options.fold,
    )


def read_split(path: Path, dataset: Dataset) -> dict[str, Subset]:
    """The subset of each case, from a CSV; a cell that is empty, or ``none``, leaves the case out."""
    rows = read_pairs(path, name="split", second="subset")
    if rows and rows[0][1].lower() not in _WORDS:  # the header, whatever it is
        rows = rows[1:]
    table: dict[str, Subset] = {}
    known = {case.name for case in dataset.cases}
    for case, word in rows:
        if word.lower() not in _WORDS:
            raise BadInput(f"`split`: '{path}': {case} is '{word}'. Wanted train, validation, test or none.")
        if case in table:
            raise BadInput(f"`split`: '{path}' names {case} more than once.")
        table[case] = _WORDS[word.lower()]
    if strangers := sorted(set(table) - known):
        raise BadInput(
            f"`split`: '{path}' names {strangers[0]}, which is no case of {dataset.name}; its cases are called like "
            f"{min(known, default='nothing')}."
        )
    if missing := sorted(case.name for case in dataset.cases if case.target and case.name not in table):
        raise BadInput(
            f"`split`: '{path}' does not name {len(missing)} of the labelled cases, such as {missing[0]}. Give each "
            "train, validation, test, or none to leave it out."
        )
    return table
