"""Some two hundred more odd files and arguments: what is unusual works, and the rest gets a sentence and writes nothing."""

import os
import resource
import shutil

import pytest
from robustness import odd_pictures, odd_volumes, odd_words
from robustness.commands import assert_a_sentence, run_command
from robustness.odd_arguments import TINY, TRAIN
from robustness.odd_folders import good_folder
from robustness.test_odd_inputs import everything, no_hang, things  # noqa: F401 they are fixtures
from sampling import sample

WORKS = {**{("2D", name): make for name, make in odd_pictures.WORKS.items()}}
WORKS |= {("3D", name): make for name, make in odd_volumes.WORKS.items()}
REFUSED = {**{("2D", name): make for name, make in odd_pictures.REFUSED.items()}}
REFUSED |= {("3D", name): make for name, make in odd_volumes.REFUSED.items()}
SIZES = {"2D": "--size 16x16", "3D": "--patch 8x8x8"}
MEMORY = 1 << 29  # bytes more than now: no file here needs as much


@pytest.fixture
def little_memory():
    """What would take gigabytes fails at once."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def try_folder(key, make, tmp_path):
    """How checking it and training on it end; the folder itself must stay as it was."""
    folder = make(tmp_path / "data")
    before = everything(folder)
    words = TINY.replace("--size 16x16", SIZES[key[0]]).split()
    checked = run_command("data", folder)
    trained = run_command("train", "--data", folder, "--out", tmp_path / "run", *words)
    assert everything(folder) == before
    return checked, trained


@pytest.mark.parametrize("key", sample(WORKS, 6, seed=1), ids="-".join)
@pytest.mark.filterwarnings("ignore")
def test_an_unusual_folder_works(tmp_path, key):
    for ended in try_folder(key, WORKS[key], tmp_path):
        assert ended.code == 0, f"{key}: {ended.err}{ended.trace}"


@pytest.mark.parametrize("key", sample(REFUSED, 16, seed=2), ids="-".join)
@pytest.mark.filterwarnings("ignore")
def test_another_odd_folder_gets_a_sentence(tmp_path, key):
    for ended in try_folder(key, REFUSED[key], tmp_path):
        assert_a_sentence(ended, str(key))
        assert ended.code == 2


def test_a_small_volume_takes_little_memory_however_much_it_unpacks_to(tmp_path, little_memory):
    folder = odd_volumes.WORKS["a volume that unpacks to gigabytes"](tmp_path / "data")
    ended = run_command("data", folder)
    assert ended.code == 0, ended.err + ended.trace


def in_a_copy(things, tmp_path, monkeypatch, words):  # noqa: F811
    """How a command ends beside copies of what its words stand for, of which nothing may be touched."""
    work = shutil.copytree(things, tmp_path / "work")
    odd_words.dangling(work)
    monkeypatch.chdir(work)
    before = everything(work)
    ended = run_command(*(word.replace("LONG", "n" * 300).replace("NEW", "new") for word in words.split()))
    after = {path: size for path, size in everything(work).items() if path.split(os.sep)[0] != "new"}
    assert after == before
    return ended


@pytest.mark.parametrize("name", sample(odd_words.REFUSED, 16, seed=3))
def test_another_odd_argument_gets_a_sentence(things, tmp_path, monkeypatch, name):  # noqa: F811
    ended = in_a_copy(things, tmp_path, monkeypatch, odd_words.REFUSED[name])
    assert_a_sentence(ended, name)
    assert ended.code == 2


@pytest.mark.parametrize("name", sample(odd_words.WORKS, 1, seed=4))
def test_an_unusual_argument_works(things, tmp_path, monkeypatch, name):  # noqa: F811
    ended = in_a_copy(things, tmp_path, monkeypatch, odd_words.WORKS[name])
    assert ended.code == 0, ended.err + ended.trace


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (option, name)
        for option in ("split", "groups")
        for name in sample(getattr(odd_words, option.upper() + "_TABLES"), 3)
    ],
)
def test_an_odd_table_gets_a_sentence(tmp_path, option, name):
    content = getattr(odd_words, option.upper() + "_TABLES")[name]
    good_folder(tmp_path / "DATA")
    (tmp_path / "table.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    words = TRAIN.replace("DATA", str(tmp_path / "DATA")).replace("NEW", str(tmp_path / "new"))
    ended = run_command(*words.split(), f"--{option}", tmp_path / "table.csv")
    assert_a_sentence(ended, name)
    assert ended.err.startswith(f"sizewise: --{option}: ") or "left to score" in ended.err or "groups" in name
    assert not (tmp_path / "new" / "best.pt").exists()


@pytest.mark.parametrize("option", ["split", "groups"])
def test_a_pipe_for_a_table_is_not_waited_for(tmp_path, option):
    good_folder(tmp_path / "DATA")
    os.mkfifo(tmp_path / "pipe.csv")
    ended = run_command("data", tmp_path / "DATA", f"--{option}", tmp_path / "pipe.csv")
    assert_a_sentence(ended, option)
    assert "is no plain file" in ended.err


@pytest.mark.parametrize("name", sample(odd_words.PROBABILITIES, 8, seed=5))
def test_odd_probabilities_get_a_sentence(tmp_path, monkeypatch, name, little_memory):
    monkeypatch.chdir(tmp_path)
    odd_words.place(tmp_path / "PROBABILITIES", *odd_words.PROBABILITIES[name]())
    ended = run_command(*odd_words.DECIDE.split())
    assert_a_sentence(ended, name)
    assert ended.code == 2
    assert "c0.np" in ended.err


@pytest.mark.parametrize("name", odd_words.PROBABILITIES_THAT_WORK)
def test_unusual_probabilities_work(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    odd_words.place(tmp_path / "PROBABILITIES", *odd_words.PROBABILITIES_THAT_WORK[name]())
    ended = run_command(*odd_words.DECIDE.split())
    assert ended.code == 0, ended.err + ended.trace
