"""The one reader of other people's CSV: rows, or a sentence."""

import os

import pytest

from sizewise.csv_files import read_rows, read_whole_number
from sizewise.errors import BadInput


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n".encode("utf-16"), "it is not in UTF-8"),
        (f"a,{'b' * 200_000}\n".encode(), "field larger than field limit"),
    ],
)
def test_what_is_no_table(tmp_path, content, said):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(BadInput, match=f"a.csv' cannot be read as a list: .*{said}"):
        read_rows(tmp_path / "a.csv", what="a list")


def test_what_is_no_plain_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(BadInput, match="is no plain file"):
        read_rows(tmp_path / "pipe.csv")
    with pytest.raises(BadInput, match="does not exist"):
        read_rows(tmp_path / "none.csv")
    (tmp_path / "hole.csv").touch()
    os.truncate(tmp_path / "hole.csv", 2**40)
    with pytest.raises(BadInput, match="it has 1048576 MiB"):
        read_rows(tmp_path / "hole.csv")


def test_a_byte_order_mark_blanks_quotes_and_empty_rows(tmp_path):
    (tmp_path / "a.csv").write_bytes('\ufeffname , value\r\n\r\n , \r\n"a, b", 1\r\n"two\nlines",2\r\n'.encode())
    assert read_rows(tmp_path / "a.csv") == [["name", "value"], ["a, b", "1"], ["two\nlines", "2"]]


@pytest.mark.parametrize("cell", ["", "-1", "1.0", "²", "١", "256", "0x1", "9" * 5000])
def test_what_is_no_whole_number_up_to_255(cell):
    assert read_whole_number(cell, largest=255) is None


def test_whole_numbers():
    assert [read_whole_number(cell, largest=255) for cell in ("0", "007", "255")] == [0, 7, 255]
