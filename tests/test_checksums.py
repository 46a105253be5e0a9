"""Tables with a checksum: damage is seen, and a kill between the checksum and the table is not damage."""

import os

import pytest

from sizewise import checksums
from sizewise.checksums import FILE, check_intact, forget, is_intact, remember, replacing_checked
from sizewise.errors import BadInput


def write(path, text):
    with replacing_checked(path) as partial:
        partial.write_text(text)


def test_damage_is_seen_and_the_sentence_says_what_to_do(tmp_path):
    path = tmp_path / "a.csv"
    write(path, "1\n2\n3\n")
    assert is_intact(path)
    path.write_text("1\n2\n")
    with pytest.raises(BadInput, match=r"a\.csv' is not as it was written.* Score again\. .*remove checksums\.json"):
        check_intact(path, hint="Score again.")
    write(path, "1\n2\n")
    check_intact(path, hint="")


@pytest.mark.parametrize("moment", ["before the table", "after the table"])
def test_a_kill_around_the_write_leaves_a_table_that_fits(tmp_path, monkeypatch, moment):
    path = tmp_path / "a.csv"
    write(path, "old")
    replace = os.replace
    with monkeypatch.context() as patch:
        if moment == "after the table":
            patch.setattr(checksums, "remember", killed)
        else:
            patch.setattr("os.replace", lambda old, new: killed() if new == path else replace(old, new))
        with pytest.raises(KeyboardInterrupt):
            write(path, "new")
    assert path.read_text() == ("old" if moment == "before the table" else "new")
    assert is_intact(path)


def killed(*given):
    raise KeyboardInterrupt


def test_the_table_is_the_last_file_that_is_written(tmp_path, monkeypatch):
    """A kill after it would leave half a checksum in a folder that is complete, where nobody looks any more."""
    written, replace = [], os.replace
    monkeypatch.setattr("os.replace", lambda old, new: (written.append(new.name), replace(old, new)))
    write(tmp_path / "a.csv", "1")
    assert written == [FILE, "a.csv"]


def test_without_a_checksum_a_table_is_taken_as_it_is(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("from elsewhere")
    assert is_intact(path)
    (tmp_path / FILE).write_text("{")  # damaged itself
    assert is_intact(path)
    remember(path)
    path.write_text("edited")
    assert not is_intact(path)
    forget(path)
    assert is_intact(path)
