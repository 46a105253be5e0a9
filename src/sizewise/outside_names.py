"""Names from outside: of cases, classes and models. Here they become names of files and cells of tables, nowhere else.

A name may come from a folder, a table, a ``dataset.json`` or the command line. It goes into tables, pages and names of
files. What no table or file system can hold is refused when it is first seen, before any work is done; what would mean
something else there, such as ``../`` or a formula of a spreadsheet, is escaped.
"""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from sizewise.errors import BadInput

LONGEST_BYTES = 230  # file systems end at 255, and endings such as .nii.gz come on top
_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # what a spreadsheet would work out, and what this module itself puts before it


def check_name(name: str, *, what: str) -> str:
    r"""The name, if tables and file systems can hold it; ``what`` says whose it is.

    >>> check_name("ポリープ 01", what="the case")
    'ポリープ 01'
    >>> check_name("a\rb", what="the case")
    Traceback (most recent call last):
    sizewise.errors.BadInput: the case 'a\rb' has a control character in its name. Rename it.
    """
    shown = ascii(name) if not name.isprintable() else repr(name)
    if not name.strip():
        raise BadInput(f"{what} {shown} has no name. Give it one.")
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise BadInput(f"{what} {shown} has a name that is not UTF-8. Rename it.")
    if any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in name):
        raise BadInput(f"{what} {shown} has a control character in its name. Rename it.")
    if len(file_name(name).encode()) > LONGEST_BYTES:
        raise BadInput(
            f"{what} {shown[:40]}… has a name of {len(name.encode())} bytes. File names end at 255, with their "
            f"endings: rename it to at most {LONGEST_BYTES}."
        )
    return name


def check_case_names(names: Iterable[str], *, where: str) -> None:
    r"""Refuse names of cases that cannot be those of their label maps.

    >>> check_case_names(["a", "../../b"], where="'data'")
    Traceback (most recent call last):
    sizewise.errors.BadInput: 'data': the case '../../b' has a path for a name. Label maps are called by it: rename it.
    """
    for name in names:
        check_name(name, what=f"{where}: the case")
        if "/" in name or "\\" in name or name in (".", ".."):
            raise BadInput(f"{where}: the case {name!r} has a path for a name. Label maps are called by it: rename it.")


def case_file(folder: Path, case: str, ending: str) -> Path:
    """Where a case's own file goes: called as the case is, so that programs which match files by name find it.

    >>> case_file(Path("out"), "polyp 5%", ".png").name
    'polyp 5%.png'
    """
    check_case_names([case], where=f"'{folder}'")
    return folder / f"{case}{ending}"


def file_name(name: str) -> str:
    """The name as that of a file or a folder: what would lead elsewhere is %-escaped, the rest stays as it is.

    >>> file_name("prostate/uterus"), file_name(".."), file_name("ポリープ 5%")
    ('prostate%2Futerus', '%2E.', 'ポリープ 5%25')
    """
    escaped = re.sub(r'[%/\\:*?"<>|\x00-\x1f\x7f]', lambda found: f"%{ord(found[0]):02X}", name)
    return f"%2E{escaped[1:]}" if escaped.startswith(".") else escaped


def plain_letters(name: str) -> str:
    """The name in letters that every file system and shell takes; two names may become one.

    >>> plain_letters("CE + 0.1 * Dice"), plain_letters("kvasir/polyp")
    ('CE_0.1_Dice', 'kvasir_polyp')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)


def written_cell(text: str) -> str:
    """A word for a cell of a table; an apostrophe keeps spreadsheets from working it out as a formula.

    >>> written_cell("=1+1"), written_cell("kvasir"), written_cell("'=1")
    ("'=1+1", 'kvasir', "''=1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def read_cell(cell: str) -> str:
    """The word that :func:`written_cell` made a cell of.

    >>> read_cell("'=1+1"), read_cell("kvasir"), read_cell("'s")
    ('=1+1', 'kvasir', "'s")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
