"""The one reader of JSON: an object, or a sentence."""

import os
from pathlib import Path

import pytest

from sizewise.errors import BadInput
from sizewise.json_files import check_kinds, read_json


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1', "is not valid JSON"),
        (b"", "is not valid JSON"),
        ('{"a": 1}'.encode("utf-16"), "is not valid JSON in UTF-8"),
        (b"[" * 100_000, "nested too deeply|is not valid JSON"),
        (b"[1]", "must hold an object, .* got a list"),
        (b"3", "got a whole number"),
    ],
)
def test_what_is_no_object(tmp_path, content, said):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(BadInput, match=said):
        read_json(tmp_path / "a.json")


def test_a_pipe_is_not_waited_for_and_a_byte_order_mark_is_passed_over(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="is no plain file"):
        read_json(tmp_path / "pipe")
    with pytest.raises(BadInput, match="does not exist"):
        read_json(tmp_path / "none")
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(tmp_path / "a.json") == {"a": 1}


@pytest.mark.parametrize("value", ["1", 1.5, True, None, [1]])
def test_a_whole_number_is_nothing_else(value):
    with pytest.raises(BadInput, match="seed must be a whole number, got"):
        check_kinds({"seed": value}, {"seed": int}, Path("a.json"))
    check_kinds({"seed": 1, "rate": 1, "index": None}, {"seed": int, "rate": float, "index": (int, type(None))}, Path())
    with pytest.raises(BadInput, match="and it is missing"):
        check_kinds({}, {"seed": int}, Path("a.json"))
