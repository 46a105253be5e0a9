"""Files appear whole or not at all, with the permissions of any new file, whoever else is writing."""

import errno
import os
import stat
import threading

import numpy as np
import pytest

from sizewise.files import PARTIAL, remove_unfinished, replacing, replacing_folder, save_array, write_whole


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    write_whole(path, "old")
    with pytest.raises(RuntimeError), replacing(path) as partial:  # noqa: PT012
        partial.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_full_disk_leaves_the_old_file_and_no_part(tmp_path, monkeypatch, failing):
    write_whole(tmp_path / "a.csv", "old")

    def fails(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, fails)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "a.csv", "new")
    monkeypatch.undo()
    assert (tmp_path / "a.csv").read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


def test_an_array_is_whole_or_not_there(tmp_path):
    save_array(tmp_path / "in" / "a.npy", np.arange(3))
    assert np.load(tmp_path / "in" / "a.npy").tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="Object arrays"):
        save_array(tmp_path / "in" / "a.npy", np.array([{}], dtype=object))
    assert np.load(tmp_path / "in" / "a.npy").tolist() == [0, 1, 2]
    assert [one.name for one in (tmp_path / "in").iterdir()] == ["a.npy"]


def test_the_unfinished_file_ends_as_the_whole_one_does(tmp_path):
    """nibabel and matplotlib choose a format by the ending; long names stay within a file system's 255 bytes."""
    with replacing(tmp_path / "liver.nii.gz") as partial:
        assert partial.name.endswith("-liver.nii.gz")
        partial.touch()
    long = tmp_path / ("x" * 250 + ".npz")
    write_whole(long, b"content")
    assert long.read_bytes() == b"content"


def test_permissions_are_those_of_any_new_file_and_the_umask_is_never_touched(tmp_path, monkeypatch):
    """Asking for the umask means to set it, which another thread's new file may meet."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("os.umask was called"))
    (tmp_path / "plain").touch()
    write_whole(tmp_path / "whole", "text")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "whole")}
    assert len(modes) == 1


def test_threads_that_write_one_file_never_mix(tmp_path):
    path = tmp_path / "shared.txt"
    threads = [threading.Thread(target=write_whole, args=(path, letter * 100_000)) for letter in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(path.read_text())) == 1
    assert len(path.read_text()) == 100_000


def test_a_folder_that_another_process_made_first_stays(tmp_path):
    with replacing_folder(tmp_path / "cache") as partial:
        (partial / "mine").touch()
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache" / "theirs").touch()
    assert [one.name for one in (tmp_path / "cache").iterdir()] == ["theirs"]
    assert [one.name for one in tmp_path.iterdir()] == ["cache"]


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    for name in (f"{PARTIAL}0123-last.pt", "last.pt", ".hidden"):
        (tmp_path / name).touch()
    remove_unfinished(tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == [".hidden", "last.pt"]
