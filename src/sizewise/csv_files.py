"""CSV files from outside: one reader, which says in a sentence what is wrong with a file."""

import csv
import io
from pathlib import Path

from sizewise.errors import BadInput

LARGEST_BYTES = 256 * 2**20


def read_rows(path: Path, *, what: str = "a table") -> list[list[str]]:
    """The rows, header included, as cells without blanks around them; rows without a word are left out.

    Args:
        path: the file. It must be a plain one: a pipe would be waited for.
        what: it should be, for the sentence.

    Raises:
        BadInput: it is not there, cannot be read, or is no CSV in UTF-8.
    """
    wanted = f"'{path}' cannot be read as {what}"
    if not path.is_file():
        raise BadInput(f"{wanted}: it {'is no plain file' if path.exists() else 'does not exist'}.")
    try:
        if (size := path.stat().st_size) > LARGEST_BYTES:
            raise BadInput(f"{wanted}: it has {size / 2**20:.0f} MiB, which no such file needs.")
        text = path.read_bytes().decode("utf-8-sig")
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), skipinitialspace=True)]
    except OSError as error:
        raise BadInput(f"{wanted}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{wanted}: it is not in UTF-8 ({error}). Save it as CSV in UTF-8.") from error
    except csv.Error as error:
        raise BadInput(f"{wanted}: {error}.") from error
    return [row for row in rows if any(row)]


def read_whole_number(cell: str, *, largest: int) -> int | None:
    """The number from 0 to ``largest`` that a cell holds in the digits 0 to 9; None where it holds something else.

    >>> [read_whole_number(cell, largest=255) for cell in ("12", "256", "²")]
    [12, None, None]
    """
    if not (cell.isascii() and cell.isdigit()) or len(cell.lstrip("0")) > len(str(largest)):
        return None
    number = int(cell)
    return number if number <= largest else None
