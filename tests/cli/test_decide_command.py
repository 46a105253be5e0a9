"""``sizewise decide`` as a user runs it, on what ``sizewise predict`` saved and on what it cannot read."""

import json
import re
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest
from data.layouts.amos_layout import write_amos
from data.layouts.image_folder import write_multiclass_folder
from PIL import Image
from train.tiny_runs import train_tiny

from sizewise.cli.main import main

pytestmark = pytest.mark.usefixtures("no_curves")


@pytest.fixture
def no_curves(monkeypatch):
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["sizewise", *map(str, arguments), "--device", "cpu"])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return left.value.code, printed.out, printed.err

    return called


def labels_in(folder):
    def read(path):
        return np.asarray(nibabel.load(path).dataobj) if path.suffix == ".gz" else np.asarray(Image.open(path))

    return {path.name: read(path) for path in sorted(Path(folder).iterdir()) if path.suffix in (".gz", ".png")}


@pytest.mark.parametrize("kind", ["pictures", "volumes that are turned for the network"])
def test_what_predict_saved_is_decided_as_predict_does(run, tmp_path, kind):
    if kind == "pictures":
        data, settings = write_multiclass_folder(tmp_path / "data"), {}
    else:
        data, settings = write_amos(tmp_path / "data"), {"size": (), "patch": (16, 16, 16), "spacing": (5.0, 5.0, 5.0)}
    train_tiny(data, tmp_path / "run", **settings)
    saved = ("predict", "run", "--data", data, "--subset", "validation", "--save-probabilities", "--out", "saved")
    code, out, err = run(*saved)
    assert code == 0, err
    assert "with probabilities (CASE.npy, classes first)" in out
    assert "Next: sizewise decide --probabilities saved --out decided" in out
    code, _, err = run("predict", "run", "--data", data, "--subset", "validation", "--decide", "dice", "--out", "there")
    assert code == 0, err
    fitted = json.loads(Path("run/decision.json").read_text())["temperature"]
    code, out, err = run("decide", "--probabilities", "saved", "--out", "here", "--temperature", fitted)
    assert code == 0, err
    assert "Next: sizewise evaluate --pred here" in out
    here, there = labels_in("here"), labels_in("there")
    assert sorted(here) == sorted(there)
    for name in here:
        assert here[name].shape == there[name].shape
        assert (here[name] == there[name]).mean() > 0.99  # half precision moves a pixel now and then
        if name.endswith(".gz"):
            ours, theirs = (nibabel.load(Path(folder) / name) for folder in ("here", "there"))
            np.testing.assert_allclose(ours.affine, theirs.affine)


def test_fitting_prints_the_temperature(run):
    random = np.random.default_rng(0)
    for name in ("p", "true"):
        Path(name).mkdir()
    for case in "ab":
        p = random.random((30, 30)).astype(np.float32)
        np.save(f"p/{case}.npy", np.stack([1 - p, p]))
        Image.fromarray((random.random(p.shape) < p).astype(np.uint8)).save(f"true/{case}.png")
    code, out, err = run("decide", "--probabilities", "p", "--out", "o", "--fit", "p", "--fit-target", "true")
    assert code == 0, err
    found = re.match(r"temperature (\S+), fitted on 2 cases of p", out)
    assert found
    assert 0.25 <= float(found[1]) <= 2.8
    assert ", fitted on 2 cases of p" in out
    # true label maps as a data set has them: JPEG, in the folder of a subset, named without it
    Path("test/masks").mkdir(parents=True)
    Path("q").mkdir()
    for case in "ab":
        Path(f"p/{case}.npy").rename(f"q/test_{case}.npy")
        mask = 255 * np.asarray(Image.open(f"true/{case}.png"))
        Image.fromarray(mask).save(f"test/masks/{case}.jpg", quality=99)
    code, again, err = run("decide", "--probabilities", "q", "--out", "o", "--fit", "q", "--fit-target", "test/masks")
    assert code == 0, err
    assert again.startswith(f"temperature {found[1]}, fitted on 2 cases of q")
    fit = ("--fit", "q", "--fit-target", "test/masks")
    for more in ((), fit):
        code, _, err = run("decide", "--probabilities", "q", "--out", "o", "--background", "5", *more)
        assert code == 2
        assert "--background is 5, and 'q/test_a.npy' has the classes 0 to 1." in err
    code, _, err = run("decide", "--probabilities", "q", "--out", "o", "--fit", "q")
    assert code == 2
    assert err.startswith("sizewise: --fit and --fit-target belong together")


def test_wrong_use_speaks_in_flags(run):
    Path("p").mkdir()
    np.save("p/a.npy", np.full((2, 4, 4), 0.9, np.float32))
    for arguments, message in (
        (("--out", "o"), "Missing option '--probabilities'"),
        (("--probabilities", "p"), "Missing option '--out'"),
        (("--probabilities", "p", "--out", "p"), "--out p is a folder that is read from"),
        (("--probabilities", "p", "--out", "o"), "use --activation sigmoid: each is then decided by itself"),
        (("--probabilities", "p", "--out", "o", "--background", "sky"), "--background must be none or a class id"),
        (("--probabilities", "p", "--out", "o", "--metric", "dsc"), "--metric must be one of"),
    ):
        code, _, err = run("decide", *arguments)
        assert code == 2
        assert message in err, err
    code, _, err = run(
        "decide", "--probabilities", "p", "--out", "o", "--activation", "sigmoid", "--background", "none"
    )
    assert code == 0, err
    assert sorted(path.name for path in Path("o").iterdir()) == ["channel_1", "channel_2"]
