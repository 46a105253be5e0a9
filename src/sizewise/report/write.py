"""Write a text file in one step, so that a page being read is never half a page."""

import os
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Replace ``path``, making its folder where that is missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "a" / "b.txt", "whole")
    ...     (Path(folder) / "a" / "b.txt").read_text()
    'whole'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
