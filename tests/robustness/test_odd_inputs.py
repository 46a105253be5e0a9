"""Some three hundred odd data folders and arguments: a sentence each, never a traceback, a hang, or a file elsewhere."""

import os
import shutil
import signal

import numpy as np
import pytest
from robustness.commands import assert_a_sentence, run_command
from robustness.odd_arguments import SENTENCES, TINY, YAML
from robustness.odd_folders import PICTURES, VOLUMES, good_folder, good_volumes, save, square
from sampling import sample

HARMLESS = (  # what training passes over: they belong to no pair
    "a pipe among the images",
    "a pipe for a class table",
    "a folder called as a picture",
    "a link to itself",
    "a picture of several pages",
    "a header with a size of its own",  # which nibabel puts right
    "a mask with many values",  # as many classes
)
NAMES = (
    "ポリープ画像診断検査結果報告書内視鏡大腸直腸盲腸結腸",
    "5%",
    "%2F",
    "=1+1",
    "'=1",
    "-1",
    "@a",
    "a:b*c?",
    " a ",
    "<b>&amp;",
)


@pytest.fixture(autouse=True)
def no_hang(monkeypatch):
    """A pipe that is waited for would be waited for until tomorrow."""

    def end(*given):
        raise RuntimeError("it hangs")

    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(600)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """What the words of odd arguments stand for."""
    root = tmp_path_factory.mktemp("things")
    good_folder(root / "DATA")
    good_volumes(root / "VOLUMES")
    shutil.copytree(root / "DATA" / "masks", root / "MAPS")
    (root / "FILE").write_text("hello\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
        patch.setattr("sizewise.report.draw.draw", lambda *given, **named: [])
        for words in (
            f"train --data {root / 'DATA'} --out {root / 'RUN'} {TINY}",
            f"compare --data synthetic --losses CE,RCE --seeds 1 --epochs 1 --steps-per-epoch 1 --device cpu --out {root / 'STUDY'}",
        ):
            ended = run_command(*words.split())
            assert ended.code == 0, ended.err + ended.trace
    return root


@pytest.mark.parametrize("name", sample([*PICTURES, *VOLUMES], 24, seed=5))
@pytest.mark.filterwarnings("ignore")
def test_an_odd_data_folder_gets_a_sentence(tmp_path, name):
    folder = ({**PICTURES, **VOLUMES})[name](tmp_path / "data")
    before = everything(folder)
    checked = run_command("data", folder)
    trained = run_command("train", "--data", folder, "--out", tmp_path / "run", *TINY.replace(SIZE, "").split())
    for ended in (checked, trained):
        if name in HARMLESS:
            assert ended.kind != "traceback", ended.trace
        else:
            assert_a_sentence(ended, name)
    assert everything(folder) == before
    assert {one.name for one in tmp_path.iterdir()} <= {"data", "run"}


SIZE = "--size 16x16"


@pytest.mark.parametrize("name", sample(SENTENCES, 30, seed=6))
def test_an_odd_argument_gets_a_sentence(things, tmp_path, monkeypatch, name):
    work = shutil.copytree(things, tmp_path / "work")
    monkeypatch.chdir(work)
    before = everything(work)
    words = [word.replace("LONG", "n" * 300).replace("NEW", "new") for word in SENTENCES[name].split()]
    assert_a_sentence(run_command(*words), name)
    assert {path: content for path, content in everything(work).items() if path.split(os.sep)[0] != "new"} == before


@pytest.mark.parametrize("name", sample(YAML, 12, seed=7))
def test_an_odd_yaml_gets_a_sentence(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(YAML[name])
    ended = run_command("compare", "--study", "study.yaml", "--out", "new", "--device", "cpu", "--dry-run")
    assert_a_sentence(ended, name)
    assert [one.name for one in tmp_path.iterdir()] == ["study.yaml"]


def everything(folder):
    """Every file below a folder, by its path, with its length; a pipe has none."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {os.fsdecode(os.fsencode(path.relative_to(folder))): path.stat().st_size for path in found}


@pytest.mark.filterwarnings("ignore:Glyph")
def test_names_that_are_merely_unusual_go_all_the_way(tmp_path, monkeypatch):
    """From the data to a report, and each label map is called as its case."""
    monkeypatch.setattr("sizewise.report.draw.draw", lambda *given, **named: [])
    for subset in ("train", "test"):
        for kind in ("images", "masks"):
            (tmp_path / "data" / subset / kind).mkdir(parents=True)
        for number, name in enumerate(NAMES):
            pixels = np.random.default_rng(number).integers(0, 255, (16, 16, 3))
            save(tmp_path / "data" / subset / "images" / f"{name} {subset}.png", pixels)
            save(tmp_path / "data" / subset / "masks" / f"{name} {subset}.png", square())
    study, out = tmp_path / "study", tmp_path / "out"
    words = (
        "--losses CE,RCE --seeds 1 --epochs 1 --steps-per-epoch 1 --batch-size 2 --models monai-unet-small --device cpu"
    )
    ended = run_command("compare", "--data", tmp_path / "data", *words.split(), "--size", "16x16", "--out", study)
    assert ended.code == 0, ended.err + ended.trace
    table = (study / "results.csv").read_text(encoding="utf-8")
    assert ",'=1+1 test," in table  # a spreadsheet shows it, and works nothing out
    run = next((study / "runs").iterdir())
    assert len(list((run / "overlays").glob("*.npz"))) == len(NAMES)
    report = (study / "report.html").read_text(encoding="utf-8")
    assert NAMES[0] in report
    ended = run_command("predict", run, "--data", tmp_path / "data", "--out", out, "--device", "cpu")
    assert ended.code == 0, ended.err + ended.trace
    assert {path.name for path in out.iterdir()} == {f"{name} test.png" for name in NAMES}
    targets = tmp_path / "data" / "test" / "masks"
    ended = run_command("evaluate", "--pred", out, "--target", targets, "--out", tmp_path / "scores", "--classes", "1")
    assert ended.code == 0, ended.err + ended.trace


def test_a_test_mask_that_does_not_fit_is_found_before_training(tmp_path):
    for subset, size in (("train", (16, 16)), ("test", (20, 20))):
        good_folder(tmp_path / "data" / subset)
        for mask in (tmp_path / "data" / subset / "masks").iterdir():
            save(mask, square(size))
    ended = run_command("train", "--data", tmp_path / "data", "--out", tmp_path / "run", *TINY.split())
    assert_a_sentence(ended, "a test mask")
    assert "20×20 pixels (height × width), but its image" in ended.err
    assert "epoch" not in ended.out
