"""Files that are written whole or not at all: a reader, or a kill, sees the old one or the new one, never a part."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sizewise.errors import BadInput

if TYPE_CHECKING:
    import numpy as np

PARTIAL = ".partial-"  # what an unfinished file or folder is called, until it gets its name
_LONGEST = 200  # bytes of the final name that an unfinished one keeps, as file systems end at 255


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file in one step, making its folder where that is missing; text is UTF-8.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a" / "b.txt", "whole")
    ...     (Path(folder) / "a" / "b.txt").read_text()
    'whole'
    """
    with replacing(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def save_array(path: Path, array: "np.ndarray") -> None:
    """An array as ``.npy``, whole or not at all."""
    import numpy as np

    with replacing(path) as partial, open(partial, "wb") as file:
        np.save(file, array, allow_pickle=False)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what takes the place of ``path`` when the block ends well, and vanishes when it does not.

    The name ends as that of ``path`` does, for libraries that choose a format by it. The file has the permissions that
    any new file gets here.
    """
    partial = _unfinished(path)
    try:
        yield partial
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())  # on disk before it gets the name
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """The same for a new folder. Where another process was faster its folder stays, since both hold the same."""
    partial = _unfinished(path)
    partial.mkdir()
    try:
        yield partial
        try:
            os.replace(partial, path)
        except OSError:
            if not path.is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def expanded(path: str | Path) -> Path:
    """The path with ``~`` written out, if the operating system can look it up; BadInput where it cannot.

    >>> expanded("data").name
    'data'
    """
    try:
        found = Path(path).expanduser()
        found.exists()
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL in it, no such user
        raise BadInput(f"{str(path)[:80]!r} is no path: {error}. Name a file or a folder.") from error
    return found


def remove_unfinished(folder: Path) -> None:
    """What processes that were killed left in a folder. Only for folders that nobody else writes to."""
    for one in folder.glob(f"{PARTIAL}*"):
        if one.is_file():
            one.unlink(missing_ok=True)


def _unfinished(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = os.fsencode(path.name)[-_LONGEST:].decode("utf-8", "ignore")  # a letter that was cut in two goes
    return path.with_name(f"{PARTIAL}{secrets.token_hex(4)}-{kept}")
