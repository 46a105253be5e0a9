"""Which cases belong together, such as the frames of a patient: what the user says, as a pattern or as a table."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from sizewise.csv_files import read_rows
from sizewise.errors import BadInput
from sizewise.files import expanded
from sizewise.wording import counted, few

_NAMED = 3


def groups_by(word: str, cases: Collection[str]) -> dict[str, str]:
    r"""The group of each case, by a regular expression or by a CSV.

    Args:
        word: a regular expression whose match in a case's name is the group (its first capturing group, where it has
            one), or the path of a CSV with the columns case and group.
        cases: all that there are; each must get a group, or the images of one patient would pass as patients.

    >>> groups_by(r"patient\d+", ["patient001_frame01", "patient001_frame12"])
    {'patient001_frame01': 'patient001', 'patient001_frame12': 'patient001'}
    >>> groups_by(r"(\d+)[LR]$", ["Image_01L", "Image_01R"])
    {'Image_01L': '01', 'Image_01R': '01'}
    """
    if word.lower().endswith(".csv") or Path(word).is_file():
        return read_case_groups(Path(word), cases)
    try:
        pattern = re.compile(word)
    except (re.error, OverflowError, RecursionError) as error:  # {9999999999}, brackets nested deeply
        raise BadInput(
            f"`groups`: {word!r} is no regular expression ({error}). Wanted one, as 'patient\\d+', or a CSV with the "
            "columns case and group."
        ) from error
    found = {case: _match(pattern, case) for case in cases}
    if missing := sorted(case for case, group in found.items() if not group):
        raise BadInput(
            f"`groups`: the pattern {word!r} finds nothing in the name of {few(missing, most=_NAMED)} "
            f"({counted(len(missing), 'case')} of {len(found)}). Every case needs a group: widen the pattern, or give "
            "a CSV with the columns case and group."
        )
    return found


def _match(pattern: re.Pattern[str], case: str) -> str:
    found = pattern.search(case)
    return (found[1 if pattern.groups else 0] or "") if found else ""


def read_case_groups(path: Path, cases: Collection[str]) -> dict[str, str]:
    r"""The group of each case (a patient, a video), from a CSV of two columns below any header: case and group.

    Args:
        path: the file.
        cases: all that there are; each must be in the file, or slices of a patient would pass as patients.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("case,patient\nslice_1,anna\nslice_2,anna\n")
    ...     file.flush()
    ...     read_case_groups(Path(file.name), ["slice_1", "slice_2"])
    {'slice_1': 'anna', 'slice_2': 'anna'}
    """
    found: dict[str, str] = {}
    for case, group in read_pairs(path, name="groups", second="group"):
        if case in cases and group and found.setdefault(case, group) != group:
            raise BadInput(f"`groups`: '{path}' puts {case} into {found[case]} and into {group}. A case has one group.")
    if missing := sorted(set(cases) - set(found)):
        raise BadInput(
            f"`groups`: '{path}' has no group for {few(missing, most=_NAMED)}. Cases are named as the label maps, "
            "without the ending."
        )
    return found


def read_pairs(path: Path, *, name: str, second: str) -> list[tuple[str, str]]:
    """The lines of a CSV with two cells each, a case and its ``second``; ``name`` is the argument that gave it."""
    if not expanded(path).exists():
        raise BadInput(f"`{name}`: there is no file '{path}'. Wanted a CSV with the columns case and {second}.")
    try:
        rows = read_rows(path, what=f"a CSV with the columns case and {second}")
    except BadInput as error:
        raise BadInput(f"`{name}`: {error}") from error
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise BadInput(
                f"`{name}`: '{path}', row {number}: wanted two cells, a case and its {second}, got {','.join(row)!r}."
            )
    return [(case, other) for case, other in rows]


def count_groups(cases: Collection[str], groups: Mapping[str, str]) -> int:
    """How many units the cases are; a case without a group is one of its own.

    >>> count_groups(["a", "b", "c"], {"a": "anna", "b": "anna"})
    2
    """
    return len({("group", groups[case]) if groups.get(case) else ("case", case) for case in cases})
