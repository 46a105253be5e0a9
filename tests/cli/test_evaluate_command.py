"""``sizewise evaluate`` as a user runs it: exit codes, sentences, Ctrl-C, and no torch."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nibabel
import numpy as np
import pytest
from PIL import Image

from sizewise.metrics.cases_csv import read_cases


def sizewise(*arguments, cwd=None):
    command = [sys.executable, "-m", "sizewise.cli.main", "evaluate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def disc(label=1, shape=(20, 20)):
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    return (((rows - 9) ** 2 + (columns - 9) ** 2 < 36) * label).astype(np.uint8)


@pytest.fixture
def folders(tmp_path):
    """Two folders with the same map of two classes."""
    for name in ("pred", "target"):
        (tmp_path / name).mkdir()
        picture(tmp_path / name / "a.png", np.hstack([disc(1), disc(2)]))
    return tmp_path


def picture(path, labels):
    Image.fromarray(labels).save(path)


def volume(path, labels, affine=None):
    nibabel.save(nibabel.Nifti1Image(labels, np.eye(4) if affine is None else affine), path)


def flags(root, *more):
    return ("--pred", root / "pred", "--target", root / "target", "--out", root / "out", *more)


def test_writes_the_table_and_says_what_is_next(folders):
    picture(folders / "pred" / "extra.png", disc())
    result = sizewise(*flags(folders, "--nsd-tolerance", "2"))
    assert result.returncode == 0, result.stderr
    assert "1 prediction has no target; not scored: extra." in result.stderr
    for words in ("DSC", "pooled DSC", "false alarms", "cases.csv", "Next: sizewise"):
        assert words in result.stdout
    rows = read_cases(folders / "out" / "cases.csv")
    assert {(row.case, row.class_id, row.value) for row in rows if row.metric == "dsc"} == {
        ("a", 1, 1.0),
        ("a", 2, 1.0),
    }
    assert [path.name for path in (folders / "out").iterdir()] == ["cases.csv"]


def test_the_folders_that_are_scored_stay_as_they_are(folders):
    """Without --out the table goes to a folder of its own in the working directory."""
    pred, target = folders / "pred", folders / "target"
    result = sizewise("--pred", pred, "--target", target, cwd=folders)
    assert result.returncode == 0, result.stderr
    assert (folders / "evaluation" / "cases.csv").is_file()
    assert [path.name for path in (*pred.iterdir(), *target.iterdir())] == ["a.png", "a.png"]


def truncated(root):
    """One of four files, so that it is a worker that finds it."""
    for case in "bcd":
        for name in ("pred", "target"):
            picture(root / name / f"{case}.png", disc())
    whole = (root / "pred" / "a.png").read_bytes()
    (root / "pred" / "a.png").write_bytes(whole[: len(whole) // 2])


def two_conventions(root):
    for name in ("pred", "target"):
        picture(root / name / "b.png", disc(255))


def volumes(root, predicted, target, affine=None):
    for name, labels in (("pred", predicted), ("target", target)):
        (root / name / "a.png").unlink()
        volume(root / name / "a.nii.gz", labels, affine if name == "pred" else None)


BLOCK = np.repeat(disc()[..., None], 4, axis=2)
SHIFTED = np.eye(4) + np.array([[0, 0, 0, 5]] + [[0] * 4] * 3)

WRONG = {
    "no folder": (lambda root: (root / "pred").rename(root / "elsewhere"), (), "does not exist. Wanted a folder"),
    "empty folder": (lambda root: (root / "target" / "a.png").unlink(), (), "has no label map. Wanted .png"),
    "missing prediction": (
        lambda root: picture(root / "target" / "b.png", disc()),
        (),
        "1 of 2 targets have no prediction: 'b'",
    ),
    "stem twice": (
        lambda root: picture(root / "pred" / "a.bmp", disc()),
        (),
        "has 'a.bmp', 'a.png' for one case",
    ),
    "shape": (
        lambda root: picture(root / "pred" / "a.png", disc()),
        (),
        "a.png' has size 20 x 20, but its target",
    ),
    "unreadable": (truncated, (), "a.png' cannot be read as a picture"),
    "colours": (
        lambda root: picture(root / "pred" / "a.png", np.stack([disc(9), disc(7), disc(5)], axis=-1)),
        (),
        "a.png' holds colours",
    ),
    "stray 255": (
        lambda root: picture(root / "target" / "a.png", np.hstack([disc(1), disc(255)])),
        (),
        "the values 0, 1, 255. 255 among other labels usually marks pixels to leave out: say so with --ignore-index 255",
    ),
    "two conventions": (two_conventions, (), "b.png' holds 0 and 255, but"),
    "grey levels": (
        lambda root: [picture(root / name / "a.png", disc(128)) for name in ("pred", "target")],
        (),
        "the label maps hold the ids 128. Wanted 1, 2, …, K−1",
    ),
    "large ids": (
        lambda root: picture(root / "pred" / "a.png", np.hstack([disc(), disc()]).astype(np.uint16) * 26001),
        (),
        "the values 0, 26001. Wanted class ids",
    ),
    "nothing there": (
        lambda root: [picture(root / name / "a.png", disc(0)) for name in ("pred", "target")],
        (),
        "no label map holds a class",
    ),
    "float labels": (
        lambda root: volumes(root, BLOCK * np.float32(0.5), BLOCK),
        (),
        "a.nii.gz' has label values that are not whole numbers: 0.5",
    ),
    "affine": (lambda root: volumes(root, BLOCK, BLOCK, SHIFTED), (), "a.nii.gz' lies up to 5 mm away from its target"),
    "four axes": (lambda root: volumes(root, np.stack([BLOCK] * 2, -1), BLOCK), (), "has shape (20, 20, 4, 2)"),
    "spacing of volumes": (lambda root: volumes(root, BLOCK, BLOCK), ("--spacing", "2"), "--spacing is for pictures"),
    "two kinds": (
        lambda root: [(root / "pred" / "a.png").unlink(), volume(root / "pred" / "a.nii", BLOCK)],
        (),
        "are a picture and a NIfTI file",
    ),
    "tolerance": (lambda root: None, ("--nsd-tolerance", "-1"), "--nsd-tolerance must be a number >= 0"),
    "classes": (
        lambda root: None,
        ("--classes", "1,x"),
        "--classes must be ids from 0 to 65535, as 1,2,5-9, got '1,x'",
    ),
    "class and ignored": (
        lambda root: None,
        ("--classes", "1-3", "--ignore-index", "2"),
        "--ignore-index 2 is among the --classes",
    ),
    "spacing": (lambda root: None, ("--spacing", "1,0"), "--spacing must be two numbers > 0"),
    "jobs": (lambda root: None, ("--jobs", "0"), "--jobs must be from 1 to 512"),
    "out is a file": (lambda root: (root / "out").write_text(""), (), "Name another --out"),
    "flag": (lambda root: None, ("--tolerance", "1"), "No such option"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_a_sentence_with_exit_code_2(folders, case):
    spoil, more, text = WRONG[case]
    spoil(folders)
    result = sizewise(*flags(folders, *more))
    assert result.returncode == 2
    assert text in result.stderr
    assert "Traceback" not in result.stderr
    assert not (folders / "out" / "cases.csv").exists()


def wait_for_workers(process, count=2):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while len(children.read_text().split()) < count:
        assert process.poll() is None
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_stopped_at_work_it_leaves_no_file_and_no_process(folders, number, code):
    """Two workers score large volumes; Ctrl-C reaches them too, a kill the parent alone."""
    large = (np.random.default_rng(0).random((160, 160, 160)) < 0.5).astype(np.uint8)
    for name in ("pred", "target"):
        (folders / name / "a.png").unlink()
        for case in range(4):
            volume(folders / name / f"{case}.nii", large)
        large = np.roll(large, 1, axis=0)
    command = [sys.executable, "-m", "sizewise.cli.main", "evaluate", *map(str, flags(folders, "--jobs", "2"))]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for_workers(process)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.kill()
    _, said = process.communicate(timeout=600)  # returns only when the workers have ended too: they hold stderr open
    assert process.returncode == code
    assert "Traceback" not in said
    assert not (folders / "out").exists()


def test_scoring_does_not_import_torch():
    """Workers start at once only while nothing heavy comes with them."""
    code = "import sys, sizewise.evaluate.folders, sizewise.cli.evaluate_screen; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
