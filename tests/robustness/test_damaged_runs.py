"""Every file of a run and of a study cut short, and bits of checkpoints flipped: repaired, refused, or harmless.

What may never happen: a traceback, or an exit code of 0 with other numbers.
"""

import random
import shutil
from pathlib import Path

import pytest
from data.layouts.image_folder import write_multiclass_folder
from robustness.commands import run_command
from sampling import EXHAUSTIVE, sample
from study.tiny_study import tiny_study
from train.tiny_runs import train_tiny

CUTS = 10
FLIPS = 100
NOT_READ = ("events.out", "curves.", "run.lock", "study.lock", "report.", "figures", "tables")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """A finished run, what predicting with it gives, and the same run as it was before its last epoch."""
    place = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
        train_tiny(data, place / "run", epochs=2)
        with patch.context() as stopped:
            stopped.setattr("sizewise.train.history.Board.add", lambda self, row: 1 / (2 - row["epoch"]))
            with pytest.raises(ZeroDivisionError):
                train_tiny(data, place / "begun", epochs=2)
    assert predict(place / "run", data, place / "out").code == 0
    return place


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "study"
    tiny_study(folder, seeds="1")
    ended = run_command("report", folder)
    assert ended.code == 0, ended.err + ended.trace
    return folder


def predict(run, data, out):
    return run_command("predict", run, "--data", data, "--out", out, "--score", "--device", "cpu")


def resume(data, run):
    words = "--recipe demo --model monai-unet-small --size 16x16 --epochs 2 --batch-size 2 --steps-per-epoch 2"
    saving = "--device cpu --workers 1 --save-seconds 0"
    return run_command("train", "--data", data, *words.split(), *saving.split(), "--out", run, "--resume")


def files_of(folder: Path) -> list[str]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    names = [str(path.relative_to(folder)) for path in found]
    pictures = [name for name in names if "overlays" in name]  # a hundred that are alike: two of them stand for all
    return [name for name in names if name not in pictures[2:] and not any(word in name for word in NOT_READ)]


def cut(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])


def cuts(names):
    """Ten places of each file, the empty file and the last byte among them."""
    return [(name, place / CUTS if place < CUTS - 1 else 0.9999) for name in names for place in range(CUTS)]


def tables_of(folder: Path) -> dict[str, bytes]:
    names = ("cases.csv", "results.csv")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.csv") if path.name in names}


def assert_no_other_numbers(ended, folder, whole, where) -> str:
    assert ended.kind != "traceback", f"{where}\n{ended.trace}{ended.err}"
    if ended.code == 0:
        assert tables_of(folder) == tables_of(whole), f"{where}: other numbers, exit code 0"
        return "harmless or repaired"
    assert ended.err.startswith("sizewise: "), f"{where}: {ended.err}"
    return "refused"


@pytest.mark.usefixtures("no_curves")
def test_predicting_and_resuming_with_a_file_of_the_run_cut_short(finished, data, tmp_path):
    ends = {}
    for name, share in sample(cuts(files_of(finished / "run")), 24, seed=1):
        run = tmp_path / "run"
        shutil.copytree(finished / "run", run)
        cut(run / name, share)
        ended = predict(run, data, tmp_path / "out")
        if ended.code == 0:
            assert (tmp_path / "out" / "cases.csv").read_bytes() == (finished / "out" / "cases.csv").read_bytes()
        how = [assert_no_other_numbers(ended, tmp_path / "none", tmp_path / "none", f"predict, {name} at {share}")]
        ended = resume(data, run)
        how.append(assert_no_other_numbers(ended, run, finished / "run", f"resume, {name} at {share}"))
        ends[name, share] = how
        shutil.rmtree(run)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    print_counts("finished run", ends)


@pytest.mark.usefixtures("no_curves")
def test_resuming_a_run_that_was_stopped_with_one_of_its_files_cut_short(finished, data, tmp_path):
    ends = {}
    for name, share in sample(cuts(files_of(finished / "begun")), 16, seed=2):
        run = tmp_path / "run"
        shutil.copytree(finished / "begun", run)
        cut(run / name, share)
        ended = resume(data, run)
        ends[name, share] = [assert_no_other_numbers(ended, run, finished / "run", f"resume, {name} at {share}")]
        shutil.rmtree(run)
    print_counts("run that was stopped", ends)


@pytest.mark.usefixtures("no_curves")
@pytest.mark.parametrize("name", ["best.pt", "last.pt"])
def test_flipped_bits_of_a_checkpoint(finished, data, tmp_path, name):
    """Both are read to go on with a run that was stopped; the best weights to predict."""
    ends = {}
    whole = (finished / "begun" / name).read_bytes()
    draw = random.Random(name)
    for place in [draw.randrange(8 * len(whole)) for _ in range(FLIPS if EXHAUSTIVE else 6)]:
        run = tmp_path / "run"
        shutil.copytree(finished / "begun", run)
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        (run / name).write_bytes(damaged)
        ended = resume(data, run)
        ends[name, place] = [assert_no_other_numbers(ended, run, finished / "run", f"{name}, bit {place}")]
        shutil.rmtree(run)
    print_counts(f"bits of {name}", ends)


def test_predicting_with_flipped_bits_of_the_best_weights(finished, data, tmp_path):
    whole = (finished / "run" / "best.pt").read_bytes()
    draw = random.Random(3)
    shutil.copytree(finished / "run", tmp_path / "run")
    ends = {}
    for place in [draw.randrange(8 * len(whole)) for _ in range(FLIPS if EXHAUSTIVE else 6)]:
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        (tmp_path / "run" / "best.pt").write_bytes(damaged)
        ended = predict(tmp_path / "run", data, tmp_path / "out")
        ends[place] = [assert_no_other_numbers(ended, tmp_path / "none", tmp_path / "none", f"bit {place}")]
        if ended.code == 0:
            assert (tmp_path / "out" / "cases.csv").read_bytes() == (finished / "out" / "cases.csv").read_bytes()
            shutil.rmtree(tmp_path / "out")
    print_counts("predict, bits of best.pt", ends)


def test_reporting_and_going_on_with_a_file_of_a_study_cut_short(study, tmp_path, monkeypatch):
    monkeypatch.setattr("sizewise.report.draw.draw", lambda *given, **named: [])
    ends = {}
    words = (
        "--data synthetic --losses CE,RCE --seeds 1 --epochs 2 --steps-per-epoch 2 --batch-size 2 --device cpu --jobs 1"
    )
    reported = (study / "report.md").read_text()
    for name, share in sample(cuts(files_of(study)), 30, seed=4):
        copy = tmp_path / "study"
        shutil.copytree(study, copy)
        cut(copy / name, share)
        ended = run_command("report", copy)
        how = [assert_no_other_numbers(ended, tmp_path / "none", tmp_path / "none", f"report, {name} at {share}")]
        if ended.code == 0:
            assert without_commands(copy / "report.md") == without_commands(reported), f"report, {name} at {share}"
        ended = run_command("compare", *words.split(), "--save-seconds", "0", "--out", copy)
        how.append(assert_no_other_numbers(ended, copy, study, f"compare, {name} at {share}"))
        ends[name, share] = how
        shutil.rmtree(copy)
    print_counts("study", ends)


def without_commands(text):
    """The numbers of a report, without how it was asked for and how long things took."""
    lines = text.splitlines() if isinstance(text, str) else text.read_text().splitlines()
    return [line for line in lines if line.startswith("|") and "synthetic" in line and "ms" not in line]


def print_counts(what, ends):
    counts = {}
    for how in ends.values():
        for one in how:
            counts[one] = counts.get(one, 0) + 1
    print(f"{what}: {len(ends)} damages, {counts}")


@pytest.fixture
def no_curves(monkeypatch):
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
