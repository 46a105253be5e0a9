"""Checksums of tables that are complete: a table that was cut short between two lines looks like any other.

``checksums.json`` beside a table names the SHA-256 of what was written. It is written before the table, with the sum of
the one that is there, so that a kill between the two leaves a table that one of the sums fits.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from sizewise.errors import BadInput
from sizewise.files import replacing, write_whole
from sizewise.json_files import read_json

FILE = "checksums.json"


@contextlib.contextmanager
def replacing_checked(path: Path) -> Iterator[Path]:
    """As ``files.replacing``, with the checksum of what was written beside it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     with replacing_checked(path) as partial:
    ...         _ = partial.write_text("a,b")
    ...     before, _, after = is_intact(path), path.write_text("a,"), is_intact(path)
    ...     before, after
    (True, False)
    """
    with replacing(path) as partial:
        yield partial
        _note(path, [*_read(path.parent).get(path.name, ()), _sum_of(partial)])
    remember(path)


def remember(path: Path) -> None:
    """Take a file as it is now for what it has to be; where that is known already nothing is written."""
    now = [_sum_of(path)]
    if _read(path.parent).get(path.name) != now:
        _note(path, now)


def forget(path: Path) -> None:
    """Before a file is written that is not complete yet: it has no checksum from now on."""
    known = _read(path.parent) if (path.parent / FILE).exists() else {}
    if known.pop(path.name, None) is not None:
        write_whole(path.parent / FILE, json.dumps(known, indent=1))


def _note(path: Path, sums: list[str]) -> None:
    write_whole(path.parent / FILE, json.dumps(_read(path.parent) | {path.name: sums}, indent=1))


def is_intact(path: Path) -> bool:
    """Whether a file is as it was written; one without a checksum is taken as it is."""
    try:
        known, found = path.parent.joinpath(FILE).stat(), path.stat()
    except OSError:
        return True
    return _compared(path, (found.st_mtime_ns, found.st_size, known.st_mtime_ns, known.st_size))


def check_intact(path: Path, *, hint: str) -> None:
    """Refuse a file that is not as it was written; ``hint`` says how to make it again."""
    if not is_intact(path):
        raise BadInput(
            f"'{path}' is not as it was written: it was cut short, damaged or edited since. {hint} If the change is "
            f"meant, remove {FILE} beside it."
        )


@lru_cache(maxsize=4096)
def _compared(path: Path, version: tuple[int, ...]) -> bool:
    """Once for each version of the two files: a study's screen asks every second."""
    for _ in range(2):  # both may just be replaced
        found, sums = _sum_of(path), _read(path.parent).get(path.name)
        if sums is None or found in sums:
            return True
    return False


def _read(folder: Path) -> dict[str, list[str]]:
    """What is known of a folder; a damaged list knows nothing, so that the tables are taken as those without one."""
    try:
        content = read_json(folder / FILE)
    except BadInput:
        return {}
    return {name: sums for name, sums in content.items() if isinstance(sums, list)}


def _sum_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
