"""``sizewise data`` as a user runs it: exit codes, sentences, files."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from data.layouts.decathlon_layout import write_pancreas
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from data.layouts.named_folders import write_busi, write_pictures
from PIL import Image

from sizewise.cli.main import main


def run(capsys, monkeypatch, *arguments):
    """The command in this process: exit code, stdout, stderr."""
    monkeypatch.setattr(sys, "argv", ["sizewise", "data", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    printed = capsys.readouterr()
    return left.value.code, printed.out, printed.err


def test_a_sound_data_set_as_a_subprocess(tmp_path):
    root = write_pancreas(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "sizewise.cli.main", "data", str(root)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    for text in (
        "Task07_Pancreas: 3D, CT",
        "source: Medical Segmentation Decathlon",
        "licence: CC-BY-SA 4.0",
        "cases: 7 (no subset given 6, test 1), 1 of them without a label map",
        "split: train 4, validation 1, test 1, drawn with seed 0",
        "2 cancer",
        "0.714 %",  # 2 of 280 voxels
        "All files are in order.",
        f"sizewise train --data {root}",
    ):
        assert text in done.stdout
    assert done.stderr == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["Task07_Pancreas"]  # nothing written without --out


def test_a_split_that_was_asked_for_and_cannot_be_made_is_an_error(tmp_path, capsys, monkeypatch):
    root = write_image_folder(tmp_path / "data")
    for given, sentence in (
        (("--split", tmp_path / "none.csv"), "there is no file"),
        (("--folds", "500"), "--folds"),
    ):
        code, out, err = run(capsys, monkeypatch, root, *given)
        assert (code, "Next:" in out, sentence in err) == (2, False, True), err


def test_what_many_cases_share_is_one_line(tmp_path, capsys, monkeypatch):
    root = write_image_folder(tmp_path / "data", cases=16)
    for number in range(8):
        Image.new("L", (32, 24)).save(root / "masks" / f"case {number}_mask.png")
    for number in (12, 13):
        (root / "masks" / f"case {number}_mask.png").unlink()
    code, out, _ = run(capsys, monkeypatch, root)
    assert code == 0  # training goes on without them
    assert (
        "warning: 8 masks are empty: they have no foreground pixel: case 0, case 1, case 2, case 3, case 4 and 3 more.\n"
        in out
    )
    assert "warning: 2 images have no mask, and are left out: case 12, case 13.\n" in out
    assert "No errors; 2 warnings." in out


def test_what_is_scored_is_said(tmp_path, capsys, monkeypatch):
    root = write_multiclass_folder(tmp_path / "data", classes=3)
    (root / "classes.csv").write_text("id,name\n0,sky\n1,road\n2,tree\n")
    _, out, _ = run(capsys, monkeypatch, root)
    assert "scored: road (1), tree (2). Label 0, sky, is the background; --background none scores it too" in out
    _, out, _ = run(capsys, monkeypatch, root, "--background", "none")
    assert "scored: every class: sky (0), road (1), tree (2)" in out
    assert "--background none" in out.partition("Next:")[2]  # the next command reads the data the same way
    code, _, err = run(capsys, monkeypatch, root, "--background", "nothing")
    assert (code, "--background must be 0 or none, got 'nothing'" in err) == (2, True)
    _, out, _ = run(capsys, monkeypatch, write_image_folder(tmp_path / "binary"))
    assert "is the background\n" in out


def test_errors_go_to_stderr_with_exit_code_2(tmp_path, capsys, monkeypatch):
    root = write_pancreas(tmp_path)
    (root / "labelsTr" / "pancreas_003.nii.gz").unlink()
    code, out, err = run(capsys, monkeypatch, root)
    assert code == 2
    assert "labelsTr/pancreas_003.nii.gz' does not exist" in err
    assert "1 error in" in err
    assert "Traceback" not in err
    assert "2 cancer" in out  # the table of the others is still there
    assert "Next:" not in out


def test_out_writes_the_table_and_the_plot(tmp_path, capsys, monkeypatch):
    root = write_pancreas(tmp_path)
    code, out, _ = run(capsys, monkeypatch, root, "--out", tmp_path / "new" / "folder", "--merge")
    assert code == 0
    assert sorted(file.name for file in (tmp_path / "new" / "folder").iterdir()) == [
        "sizes.csv",
        "sizes.png",
        "sizes.svg",
    ]
    assert "1 foreground" in out
    assert f"sizewise train --data {root} --merge" in out
    assert "sizes.svg" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "There is no folder 'nowhere'"),
        (["synthetic", "--name", "no-such"], "no-such"),
        (["synthetic", "--out", "file/inside"], "--out 'file/inside' can't be made"),
    ],
)
def test_bad_input_is_a_sentence(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    code, _, err = run(capsys, monkeypatch, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_many_findings_are_counted_not_listed(tmp_path, capsys, monkeypatch):
    root = write_pancreas(tmp_path, cases=2)
    info = json.loads((root / "dataset.json").read_text())
    info["training"] += [{"image": f"imagesTr/x{i}.nii.gz", "label": f"labelsTr/x{i}.nii.gz"} for i in range(40)]
    (root / "dataset.json").write_text(json.dumps(info))
    code, _, err = run(capsys, monkeypatch, root)
    assert code == 2
    assert err.count("does not exist") == 30
    assert "and 50 more" in err  # image and label map of each of the 40 are missing
    assert "80 errors" in err


SLOW = """
import os, sys, threading
import numpy
import sizewise.data.synthetic as synthetic
go_on = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), go_on.set()), daemon=True).start()
def draw_slowly(*given):
    os.write(1, b"started\\n")  # one write: the text and the line end of print can have another thread's between them
    go_on.wait()
    return numpy.zeros((8, 8), numpy.uint8)
synthetic.draw_labels = draw_slowly
sys.argv = ["sizewise", "data", "synthetic"]
from sizewise.cli.main import main
main()
"""


def test_ctrl_c_ends_with_130_and_does_not_wait_for_the_other_cases():
    """Those that were begun wait until this test has seen that the command was interrupted: nobody needs a clock."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    running = subprocess.Popen([sys.executable, "-c", SLOW], text=True, **pipes)
    assert running.stdout.readline() == "started\n"
    running.send_signal(signal.SIGINT)
    assert running.stderr.readline() == "sizewise: interrupted.\n"
    out, err = running.communicate(timeout=600)
    assert running.returncode == 130
    assert "Traceback" not in err
    assert out.count("started") < 50  # of 260: those that threads had begun by then, and perhaps a few ahead


def test_the_next_command_has_flags_that_train_knows(tmp_path, capsys, monkeypatch):
    """The options that were given come again, under the names that `sizewise train` has for them."""
    import shlex

    import typer

    from sizewise.cli.commands import make_app

    root = write_image_folder(tmp_path / "with space")
    code, out, err = run(capsys, monkeypatch, root, "--name", "folder", "--merge", "--modality", "MRI")
    assert code == 0, err
    (line,) = [line.removeprefix("Next: ") for line in out.splitlines() if line.startswith("Next: ")]
    words = shlex.split(line)
    assert words[:4] == ["sizewise", "train", "--data", str(root)]
    known = {flag for option in typer.main.get_command(make_app()).commands["train"].params for flag in option.opts}
    given = [word for word in words[2:] if word.startswith("--")]
    assert given == ["--data", "--name", "--merge", "--modality"]
    assert set(given) <= known
    again = shlex.split(out.splitlines()[-1].partition("#")[0])
    assert again == ["sizewise", "data", str(root), "--name", "folder", "--merge", "--modality", "MRI", "--out", "DIR"]


def test_cases_and_groups_of_every_side_are_printed(tmp_path, capsys, monkeypatch):
    root = write_pictures(tmp_path / "chest", [f"p{patient:02d}_{one}" for patient in range(30) for one in "ab"])
    code, out, _ = run(capsys, monkeypatch, root)
    assert code == 0
    assert "split: train 48, validation 6, test 6, drawn" not in out  # 6 cases would be too few for a verdict
    assert "If these are images of one subject, say so with --groups 'p\\d+':" in out
    code, out, _ = run(capsys, monkeypatch, root, "--groups", r"p\d+", "--plan")
    assert "cases: 60 (no subset given 60; 30 groups)" in out
    assert "split: train 34 (17 groups), validation 6 (3 groups), test 20 (10 groups), drawn with seed 0" in out
    assert "20 test cases of 10 groups; 4 losses × 3 seeds = 12 runs." in out
    assert "--losses CE,DiceCE,JaccardCE,RCE --seeds 3 --dry-run\n" in out  # the same study
    assert r"--groups 'p\d+'" in out  # in the command to run next
    code, out, _ = run(capsys, monkeypatch, root, "--groups", r"p\d+", "--folds", "3")
    assert "split: fold 1 test 20 (10 groups); fold 2 test 20 (10 groups); fold 3 test 20 (10 groups)" in out
    code, _, err = run(capsys, monkeypatch, root, "--groups", "q")
    assert code == 2
    assert (
        "--groups: the pattern 'q' finds nothing in the name of p00_a, p00_b, p01_a and 57 more (60 cases of 60)" in err
    )


def test_empty_masks_are_counted_on_every_side(tmp_path, capsys, monkeypatch):
    code, out, _ = run(capsys, monkeypatch, write_busi(tmp_path / "busi", benign=60, malignant=20, normal=20))
    assert code == 0
    assert "test 10 (2 empty masks)" in out
    assert "train 80 (16 empty masks), validation 10 (2 empty masks)" in out
