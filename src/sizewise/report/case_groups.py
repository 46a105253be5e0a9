"""Which cases belong together, such as the slices of a patient, as a table that the user writes."""

import csv
from collections.abc import Collection
from pathlib import Path

from sizewise.errors import BadInput


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
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(map(str.strip, row))]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"`groups`: cannot read '{path}': {error}.") from error
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise BadInput(
                f"`groups`: '{path}', row {number}: wanted two cells, a case and its group, got {','.join(row)!r}."
            )
    found = {case: group for case, group in rows if case in cases and group}
    missing = sorted(set(cases) - set(found))
    if missing:
        some = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        raise BadInput(
            f"`groups`: '{path}' has no group for {some}. Cases are named as the label maps, without the ending."
        )
    return found
