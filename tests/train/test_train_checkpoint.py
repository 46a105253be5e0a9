import errno
import resource

import pytest
import torch

from sizewise.errors import BadInput
from sizewise.train.checkpoint import load_checkpoint, save_checkpoint


def test_tensors_and_numbers_come_back(tmp_path):
    content = {"model": {"w": torch.randn(3)}, "rows": [{"epoch": 1, "loss": float("nan")}], "best": float("-inf")}
    save_checkpoint(tmp_path / "a.pt", content)
    again = load_checkpoint(tmp_path / "a.pt")
    assert torch.equal(again["model"]["w"], content["model"]["w"])
    assert again["best"] == float("-inf")


def test_nothing_is_executed(tmp_path):
    torch.save({"model": print}, tmp_path / "a.pt")
    with pytest.raises(BadInput, match=r"a\.pt cannot be read"):
        load_checkpoint(tmp_path / "a.pt")


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, r"there is no checkpoint .*a\.pt"), (b"half", r"a\.pt cannot be read"), ([1, 2], "holds no run")],
)
def test_files_that_are_no_checkpoint(tmp_path, content, message):
    if isinstance(content, bytes):
        (tmp_path / "a.pt").write_bytes(content)
    elif content is not None:
        torch.save(content, tmp_path / "a.pt")
    with pytest.raises(BadInput, match=message):
        load_checkpoint(tmp_path / "a.pt")


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    save_checkpoint(tmp_path / "a.pt", {"config": "aaaa"})
    assert load_checkpoint(tmp_path / "a.pt", run="aaaa") == {"config": "aaaa"}
    with pytest.raises(BadInput, match=r"other settings \(aaaa\) than config.json beside it has \(bbbb\)"):
        load_checkpoint(tmp_path / "a.pt", run="bbbb")


def test_a_full_disk_leaves_the_old_checkpoint_and_says_so(tmp_path, monkeypatch):
    save_checkpoint(tmp_path / "a.pt", {"epoch": 1})
    partial = tmp_path / ".full"
    partial.symlink_to("/dev/full")  # the real thing: every write to it fails

    from contextlib import contextmanager

    @contextmanager
    def on_the_full_disk(path):
        yield partial

    monkeypatch.setattr("sizewise.train.checkpoint.replacing", on_the_full_disk)
    with pytest.raises(OSError) as caught:
        save_checkpoint(tmp_path / "a.pt", {"epoch": 2, "model": torch.zeros(10_000)})
    assert caught.value.errno == errno.ENOSPC
    assert load_checkpoint(tmp_path / "a.pt") == {"epoch": 1}


@pytest.mark.parametrize("room", [1, 5_000, 200_000])
def test_a_disk_that_fills_up_midway_is_named_as_such(tmp_path, room):
    """Torch would say that its archive is at an unexpected position. The limit on file sizes stands for the full disk."""
    save_checkpoint(tmp_path / "a.pt", {"epoch": 1})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(OSError) as caught:
            save_checkpoint(tmp_path / "a.pt", {"epoch": 2, "model": {str(n): torch.zeros(10_000) for n in range(9)}})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno == errno.EFBIG
    assert load_checkpoint(tmp_path / "a.pt") == {"epoch": 1}
    assert [one.name for one in tmp_path.iterdir()] == ["a.pt"]


def test_other_troubles_of_torch_stay_what_they_are(tmp_path, monkeypatch):
    def fails(content, file):
        raise RuntimeError("a bug")

    monkeypatch.setattr(torch, "save", fails)
    with pytest.raises(RuntimeError, match="a bug"):
        save_checkpoint(tmp_path / "a.pt", {})
