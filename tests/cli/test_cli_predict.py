"""``sizewise predict`` as a user runs it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nibabel
import numpy as np
import pytest
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from PIL import Image
from train.tiny_runs import train_tiny

from sizewise.cli.main import main
from sizewise.train.config import RunConfig
from sizewise.train.predict import scoring_options


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A data set and a run."""
    root = tmp_path_factory.mktemp("trained")
    write_multiclass_folder(root / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
        train_tiny(root / "data", root / "run")
        train_tiny("synthetic", root / "built-in")
    return root


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["sizewise", "predict", *map(str, arguments), "--device", "cpu"])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return left.value.code, printed.out, printed.err

    return called


def test_as_a_subprocess_and_then_evaluate(trained, tmp_path):
    command = [sys.executable, "-m", "sizewise.cli.main"]
    flags = [str(trained / "run"), "--data", str(trained / "data"), "--device", "cpu"]
    done = subprocess.run([*command, "predict", *flags], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "label maps of" in done.stdout
    assert "→ predictions" in done.stdout
    assert "Next: sizewise evaluate --pred predictions --target" in done.stdout
    names = sorted(file.stem for file in (tmp_path / "predictions").iterdir())
    assert names == [Path(name).name for name in json.loads((trained / "run" / "split.json").read_text())["test"]]


def test_what_comes_next_scores_as_the_run_was_scored(run, trained, tmp_path, monkeypatch):
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
    train_tiny(trained / "data", tmp_path / "run", background="none", ignore_index=255, nsd_tolerance=2.5)
    code, out, err = run("run", "--data", trained / "data")
    assert code == 0, err
    assert "--cases predicted --out scores --ignore-index 255 --background none --nsd-tolerance 2.5\n" in out


def test_the_label_to_ignore_may_be_the_datas_own(monkeypatch):
    """As of nnU-Net's dataset.json: the run was scored without those pixels, whoever named their label."""
    task = SimpleNamespace(multilabel=False, first_class=1, dataset=SimpleNamespace(ignore_index=3))
    monkeypatch.setattr("sizewise.train.predict.read_config", lambda run: RunConfig("d"))
    monkeypatch.setattr("sizewise.train.predict.run_task", lambda run: task)
    assert scoring_options(Path("run")) == {"ignore-index": "3"}


def test_what_comes_next_scores_labels_made_in_the_same_way(run, trained):
    """It writes into the same folder: without the options it would replace what was asked for."""
    options = ("--decide", "size", "--temperature", "2.0", "--flips", "--keep-largest")
    code, out, err = run(trained / "built-in", "--data", "synthetic", "--subset", "validation", *options)
    assert code == 0, err
    assert "--subset validation --flips --keep-largest --decide size --temperature 2.0 --score\n" in out


def test_plain_images_one_image_and_other_subsets(run, trained, tmp_path):
    shutil.copytree(trained / "data" / "test" / "images", tmp_path / "plain")
    code, _, err = run(trained / "run", "--data", "plain", "--out", "a")
    assert code == 0, err
    assert len(list(Path("a").iterdir())) == len(list(Path("plain").iterdir()))
    one = next(Path("plain").iterdir())
    code, out, _ = run(trained / "run", "--data", one, "--out", "b")
    assert code == 0
    assert out.startswith("1 label map of")
    with Image.open(next(Path("b").iterdir())) as labels:
        assert labels.size == (32, 32)
        assert set(np.unique(np.asarray(labels))) <= {0, 1, 2, 3}
    assert run(trained / "run", "--data", trained / "data", "--subset", "all", "--out", "c")[0] == 0
    assert len(list(Path("c").iterdir())) == 8


def test_wrong_use(run, trained, tmp_path):
    write_image_folder(tmp_path / "binary")
    Path("file").touch()
    Path("empty").mkdir()
    Path("grey").mkdir()
    Image.fromarray(np.zeros((8, 8), np.uint16)).save(tmp_path / "grey" / "a.png")
    data = trained / "data"
    for arguments, message in (
        (("nowhere", "--data", data), "nowhere is no run folder: it has no config.json"),
        ((trained / "run", "--data", "nowhere"), "There is no folder 'nowhere'"),
        ((trained / "run", "--data", "binary"), "the run was trained on 2D"),
        ((trained / "run", "--data", "empty"), "has no images that this run, trained on 2D data, can read"),
        ((trained / "run", "--data", data, "--subset", "tests"), "--subset must be one of"),
        ((trained / "run", "--data", data, "--subset", "unlabelled"), "every case of"),
        ((trained / "run", "--data", data, "--out", "file"), "--out file is a file; name a folder"),
        ((trained / "run", "--data", data, "--out", "file/in"), "--out file/in cannot be made"),
        ((trained / "run",), "Missing option '--data'"),
    ):
        code, _, err = run(*arguments)
        assert code == 2, arguments
        assert message in err, err


def test_what_is_from_an_earlier_call_is_named(run, trained, tmp_path):
    code, out, err = run(trained / "run", "--data", trained / "data", "--score")
    assert code == 0, err
    assert "note: " not in out
    code, out, err = run(trained / "run", "--data", trained / "data", "--subset", "validation")
    assert code == 0, err
    tested = len(json.loads((trained / "run" / "split.json").read_text())["test"])
    assert f"note: predictions also holds {tested} label map" in out
    assert "of other cases, from before." in out
    assert "note: predictions/cases.csv is from before, not of these label maps." in out


def test_scores_are_those_of_the_run(run, trained, tmp_path):
    code, out, err = run(trained / "run", "--data", trained / "data", "--score", "--out", "a")
    assert code == 0, err
    assert (tmp_path / "a" / "cases.csv").read_bytes() == (trained / "run" / "cases.csv").read_bytes()
    assert "3 class_3" in out
    assert f"Next: sizewise diagnose {trained / 'run'}" in out
    assert len(list(Path("a").glob("*.png"))) == 2
    shutil.copytree(trained / "data" / "test" / "images", tmp_path / "plain")
    for arguments, message in (
        (("--data", "plain"), "--score: none of the cases of plain has a true label map"),
        (("--data", trained / "data", "--out", trained / "run"), "is a run folder"),
    ):
        code, _, err = run(trained / "run", *arguments, "--score")
        assert code == 2
        assert message in err


def test_volumes_for_a_run_on_pictures(run, trained, tmp_path):
    nibabel.save(nibabel.Nifti1Image(np.zeros((8, 7, 5), np.float32), np.eye(4)), tmp_path / "v.nii.gz")
    code, _, err = run(trained / "run", "--data", "v.nii.gz")
    assert code == 2
    assert "v.nii.gz' is a 3D image (8×7×5), but this run was trained on 2D data" in err
    assert "Known layouts" not in err


def test_a_run_that_is_not_finished_or_broken(run, trained, tmp_path):
    copy = shutil.copytree(trained / "run", tmp_path / "run")
    whole = (copy / "best.pt").read_bytes()
    (copy / "best.pt").write_bytes(whole[:1000])
    code, _, err = run("run", "--data", trained / "data")
    assert code == 2
    assert "the checkpoint run/best.pt cannot be read" in err
    (copy / "best.pt").unlink()
    code, _, err = run("run", "--data", trained / "data")
    assert code == 2
    assert "there is no checkpoint run/best.pt. Train the run to the end" in err
    (copy / "preparation.json").unlink()
    code, _, err = run("run", "--data", trained / "data")
    assert code == 2
    assert "run is no trained run: it has no preparation.json" in err


def test_decisions_and_probabilities(run, trained, tmp_path):
    copy = shutil.copytree(trained / "run", tmp_path / "run")
    code, out, err = run("run", "--data", trained / "data", "--decide", "dice", "--save-probabilities", "--out", "a")
    assert code == 0, err
    kept = json.loads((copy / "decision.json").read_text())["temperature"]
    assert f"decided for dice at temperature {kept:.3g} with probabilities (CASE.npy, classes first)" in out
    for file in Path("a").glob("*.npy"):
        probabilities = np.load(file)
        assert probabilities.dtype == np.float16
        assert probabilities.shape == (4, 32, 32)
        np.testing.assert_allclose(probabilities.astype(np.float32).sum(0), 1, atol=2e-3)
        assert file.with_suffix(".png").exists()
    assert len(list(Path("a").glob("*.npy"))) == 2
    code, out, _ = run("run", "--data", trained / "data", "--decide", "size", "--temperature", "2", "--score")
    assert code == 0
    assert {line.split(",")[6] for line in Path("predictions/cases.csv").read_text().splitlines()[1:]} == {"size"}
    code, _, err = run("run", "--data", trained / "data", "--decide", "dise")
    assert code == 2
    assert "--decide must be one of 'argmax', 'dice', 'iou', 'size', got 'dise'. Did you mean 'dice'?" in err
    code, _, err = run("run", "--data", trained / "data", "--decide", "dice", "--temperature", "0")
    assert code == 2
    assert "--temperature must be a number above 0, got 0." in err
