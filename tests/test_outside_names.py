"""Names from outside: what they become, and what is refused."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewise.errors import BadInput
from sizewise.outside_names import (
    LONGEST_BYTES,
    case_file,
    check_case_names,
    check_name,
    file_name,
    read_cell,
    written_cell,
)


@given(st.text())
def test_a_cell_reads_back_as_the_word_and_is_never_a_formula(word):
    cell = written_cell(word)
    assert read_cell(cell) == word
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.text(min_size=1))
def test_a_file_name_stays_in_its_folder(word):
    name = file_name(word)
    assert os.sep not in name
    assert name not in (".", "..")
    assert "\0" not in name


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_names_are_two_files(one, other):
    assert (file_name(one) == file_name(other)) == (one == other)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a\udcff", "not UTF-8"),
        ("a\rb", "control character"),
        ("a\u2028b", "control character"),
        ("  ", "has no name"),
        ("ポ" * 80, "a name of 240 bytes"),
        ("/" * 100, "at most 230"),  # three letters each, once they are escaped
    ],
)
def test_names_that_are_refused(name, said):
    with pytest.raises(BadInput, match=said):
        check_name(name, what="the case")


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/b", "a\\b", "..", "."])
def test_a_case_has_no_path_for_a_name(name, tmp_path):
    with pytest.raises(BadInput, match="a path for a name"):
        check_case_names([name], where="data")
    with pytest.raises(BadInput, match="a path for a name"):
        case_file(tmp_path, name, ".png")


def test_the_longest_name_fits_with_every_ending(tmp_path):
    path = case_file(tmp_path, "n" * LONGEST_BYTES, ".nii.gz")
    path.write_text("")
    assert path.exists()
