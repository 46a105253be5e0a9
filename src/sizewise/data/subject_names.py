"""What the names of cases say about subjects: published ways of naming, and names that look like repeats.

Two frames of one heart, or the two eyes of one child, are nearly the same picture for a network. On one side of a split
each they let a test score what was trained on, and counted as two units they make an interval too narrow.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sizewise.data.case_groups import groups_by
from sizewise.data.dataset import Case, Dataset
from sizewise.wording import counted

# Whose files these are, how their names look, and the pattern of the subject in them.
PUBLISHED = (
    # Bernard et al. 2018, https://doi.org/10.1109/TMI.2018.2837502: the end-diastolic and end-systolic frame of a heart
    ("ACDC", "patients", re.compile(r"patient\d{3}_(frame\d{2}|4d|ED|ES)(\W|_|$)", re.IGNORECASE), r"patient\d+"),
    # Fraz et al. 2012, https://doi.org/10.1109/TBME.2012.2205687: the left and the right eye of a child
    ("CHASE_DB1", "children", re.compile(r"Image_\d{2}[LR]$"), r"(Image_\d+)[LR]"),
)
_EYE = re.compile(r"(.*\d)([_\-. ]?)(l|r|left|right|od|os)$", re.IGNORECASE)
_WORDS = re.compile(r"[^_\-. ()]+")


def with_subjects(dataset: Dataset, groups: str = "", *, may_guess: bool = True) -> Dataset:
    """The data set with its cases grouped by subject.

    Args:
        dataset: as its layout opened it.
        groups: what the user says, as ``groups_by`` takes it; it replaces whatever the layout knows.
        may_guess: whether names are the layout's to give. Otherwise they say nothing that it has not read.
    """
    names = [case.name for case in dataset.cases]
    if groups:
        return _grouped(dataset, groups_by(groups, names), f"Cases are grouped as `groups={groups}` says")
    if not may_guess or not names or any(case.group for case in dataset.cases):
        return dataset
    for published, subjects, looks, pattern in PUBLISHED:
        if all(looks.match(name) for name in names):
            text = f"Cases are named as those of {published} and are grouped by {subjects}"
            return _grouped(dataset, groups_by(pattern, names), text)
    pattern = repeated_subjects(names)
    if not pattern:
        return dataset
    found = Counter(groups_by(pattern, names).values())
    (most, count), *_ = found.most_common(1)
    note = (
        f"{len(names)} cases have {len(found)} beginnings of names, such as '{most}' in {counted(count, 'case')}. If "
        f"these are images of one subject, say so with `groups={pattern}`: else they may be trained on and scored, "
        "and are counted as if they were independent."
    )
    return replace(dataset, notes=(*dataset.notes, note))


def _grouped(dataset: Dataset, groups: dict[str, str], how: str) -> Dataset:
    cases = tuple(replace(case, group=groups[case.name]) for case in dataset.cases)
    note = f"{how}: {counted(len(cases), 'case')} of {counted(len(set(groups.values())), 'group')}."
    return replace(dataset, cases=cases, notes=(*dataset.notes, note, *_parted(cases)))


def _parted(cases: Sequence[Case]) -> tuple[str, ...]:
    """A note where the data set's own subsets, which stand, part a group."""
    sides: dict[str, set[str]] = {}
    for case in cases:
        if case.target:
            sides.setdefault(case.group, set()).add(case.subset)
    parted = {group: found for group, found in sides.items() if len(found) > 1}
    if not parted:
        return ()
    first = min(parted)
    return (
        f"The data set's own subsets part {counted(len(parted), 'group')}, such as '{first}' in "
        f"{' and '.join(sorted(parted[first]))}: what was trained on is scored. `folds`, `test_share` or `split` make "
        "other ones.",
    )


def repeated_subjects(names: Sequence[str]) -> str:
    r"""A pattern for the part of the names that most cases share with another case; empty where there is none.

    It is the shortest beginning that has a number in it and ends where a word does, or all but the side of an eye.

    >>> repeated_subjects(["case_01_slice_1", "case_01_slice_2", "case_02_slice_1", "case_02_slice_2"])
    'case_\\d+'
    >>> repeated_subjects(["0001TP_006690", "0001TP_006720", "Seq05VD_f00000", "Seq05VD_f00030"])
    '^[^_]+'
    >>> repeated_subjects(["10_left", "10_right", "13_left", "13_right"])
    '(.+)_(left|right)$'
    >>> repeated_subjects(["benign (1)", "benign (2)", "ISIC_0000001"]), repeated_subjects(["2020_01", "2020_02"])
    ('', '')
    """
    eyes = [found for name in names if (found := _EYE.fullmatch(name))]
    if len(eyes) == len(names) and _repeats([eye[1] for eye in eyes]) and len({eye[2] for eye in eyes}) == 1:
        return f"(.+){re.escape(eyes[0][2])}({'|'.join(sorted({eye[3] for eye in eyes}))})$"
    for words in (1, 2, 3):
        beginnings = [_beginning(name, words) for name in names]
        if all(beginnings) and _repeats(beginnings):
            return _pattern_of(beginnings, names)
    return ""


def _repeats(subjects: Sequence[str]) -> bool:
    """Whether most cases are one of several of their subject, and there are several subjects."""
    counts = Counter(subjects)
    return len(counts) > 1 and 2 * sum(count for count in counts.values() if count > 1) > len(subjects)


def _beginning(name: str, words: int) -> str:
    """The first so many words and those up to the first number; empty where nothing is left after it."""
    found = list(_WORDS.finditer(name))
    number = next((at for at, word in enumerate(found) if re.search(r"\d", word[0])), len(found))
    last = max(words - 1, number)
    return name[: found[last].end()] if last < len(found) - 1 else ""


def _pattern_of(beginnings: Sequence[str], names: Sequence[str]) -> str:
    r"""Words and \d+ where all beginnings look alike; else everything before the separator that follows them."""
    shapes = {re.sub(r"\d+", "0", beginning) for beginning in beginnings}
    if len(shapes) == 1:
        return re.escape(shapes.pop()).replace("0", r"\d+").replace(r"\ ", " ").replace(r"\-", "-")
    after = {name[len(beginning)] for name, beginning in zip(names, beginnings, strict=True)}
    counts = {beginning.count(one) for one in after for beginning in beginnings}
    return f"^[^{re.escape(after.pop())}]+" if len(after) == 1 and counts == {0} else ""
