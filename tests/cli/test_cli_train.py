"""``sizewise train`` as a user runs it: exit codes, sentences, Ctrl-C, several processes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from data.layouts.decathlon_layout import write_pancreas
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from PIL import Image
from sampling import EXHAUSTIVE
from train.tiny_runs import history_without_times

from sizewise.cli.main import main
from sizewise.decisions.score_fit import TEMPERATURES
from sizewise.metrics.cases_csv import read_cases

TINY = "--recipe demo --model monai-unet-small --size 16x16 --batch-size 2 --steps-per-epoch 2 --epochs 2 --device cpu"
PROGRAM = [sys.executable, "-m", "sizewise.cli.main"]
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """The command in this process: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["sizewise", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return left.value.code, printed.out, printed.err

    return called


def flags(data, *more):
    return ("train", "--data", data, *TINY.split(), *more)


WRONG = {
    "loss": (["--loss", "RCEE"], "--loss RCEE: .*Did you mean 'RCE"),
    "model": (["--model", "r50-fnp"], "there is no model 'r50-fnp'. Did you mean 'r50-fpn'"),
    "recipe": (["--recipe", "polyps"], "--recipe must be one of .* Did you mean 'polyp'"),
    "schedule": (["--schedule", "step"], "--schedule must be one of constant, plateau, poly, poly-step, got 'step'"),
    "augment": (
        ["--augment", "mixup"],
        "--augment must be one of none, flip, picture, any-way-up, street, volume, slices, got 'mixup'",
    ),
    "size": (["--size", "16"], r"--size must have 2 numbers for 2D data, got 1: \(16,\)"),
    "size words": (["--size", "big"], "--size must be numbers as 352x352, or the word stored, got 'big'"),
    "patch": (
        ["--patch", "10x10"],
        r"--patch must be a multiple of 4 along each axis for monai-unet-small, got \(10, 10\)",
    ),
    "epochs": (["--epochs", "0"], "--epochs must be at least 1, got 0"),
    "weight without a second term": (["--loss", "CE", "--weight", "2"], "--loss CE: .*weight"),
    "option that the loss has not": (["--loss", "CE", "--gamma", "2"], "--loss CE: .*gamma"),
    "device": (["--device", "tpu"], "--device must be auto, cpu or cuda, got 'tpu'"),
    "devices": (["--devices", "0"], "--devices and --nodes must be at least 1"),
    "workers": (["--workers", "-1"], "--workers at least 0"),
    "shared batch": (["--devices", "4"], "--batch-size 2 is shared by 4 devices; make it a multiple"),
    "nodes": (["--nodes", "2"], "--nodes 2: start the command on each machine with torchrun"),
    "sigmoid": (["--activation", "sigmoid"], "--activation sigmoid makes one channel of a binary problem"),
    "weights without an encoder": (["--encoder-weights", "imagenet"], "encoder_weights must be 'none'"),
    "out is a file": (["--out", "file"], "--out file is a file; name a folder"),
    "out is in a file": (["--out", "file/run"], "--out file/run cannot be made: Not a directory"),
    "out holds other files": (["--out", "."], "--out . holds other files and no run. Name a new folder"),
    "no such flag": (["--lr", "1"], "No such option"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings_are_a_sentence_with_exit_code_2(run, data, case):
    more, message = WRONG[case]
    Path("file").touch()
    code, out, err = run(*flags(data, *more))
    assert code == 2
    assert re.search(message, err), err
    assert "epoch" not in out
    assert not list(Path("runs").glob("*"))  # a run that never began leaves no folder


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_bad_data_is_a_sentence_with_the_files_name(run, tmp_path):
    code, _, err = run(*flags("nowhere"))
    assert code == 2
    assert "There is no folder 'nowhere'" in err
    root = write_image_folder(tmp_path / "broken")
    truncate(root / "images" / "case 4.bmp")
    code, _, err = run(*flags(root))
    assert code == 2
    assert "case 4.bmp" in err
    root = write_image_folder(tmp_path / "unequal")
    with Image.open(root / "masks" / "case 3_mask.png") as mask:
        mask.resize((20, 20), Image.Resampling.NEAREST).save(root / "masks" / "case 3_mask.png")
    code, _, err = run(*flags(root))
    assert code == 2
    assert "case 3" in err
    assert "20" in err
    volumes = write_pancreas(tmp_path / "volumes")
    truncate(volumes / "imagesTr" / "pancreas_002.nii.gz")
    code, _, err = run("train", "--data", volumes, "--model", "monai-unet-small", "--epochs", "1", "--device", "cpu")
    assert code == 2
    assert "pancreas_002.nii.gz" in err
    assert not list(Path("runs").glob("*"))


def test_how_frames_were_grouped_is_said_and_kept(run, tmp_path):
    """Without the release's numbers the split rests on similarity: who reads the scores has to know."""
    import json

    from data.layouts.cvc_clinicdb import write_cvc_clinicdb

    root = write_cvc_clinicdb(tmp_path / "cvc")  # counted anew from 1
    code, out, err = run(*flags(root, "--epochs", "1", "--out", "run"))
    assert code == 0, err
    assert out.startswith("note: The files do not carry the frame numbers of the release")
    assert "by how alike they look" in json.loads(Path("run/problem.json").read_text())["notes"][0]


def test_a_folder_that_holds_a_run(run, data, tmp_path):
    assert run(*flags(data, "--out", "run"))[0] == 0
    code, _, err = run(*flags(data, "--out", "run"))
    assert (code, err) == (
        2,
        "sizewise: run holds this run already, finished. Show it with --resume, or use another --out.\n",
    )
    code, out, _ = run(*flags(data, "--out", "run", "--resume"))
    assert code == 0
    assert "run is finished already." in out
    assert "Test scores of run" in out
    code, _, err = run(*flags(data, "--out", "run", "--resume", "--seed", "3"))
    assert code == 2
    assert "run holds a run with other settings (--seed: 0, not 3). Use another --out." in err


def test_a_decision_is_scored_beside_argmax_at_once_or_later(run, data):
    code, _, err = run(*flags(data, "--out", "run", "--decide", "dise"))
    assert code == 2
    assert "--decide must be one of" in err
    assert not Path("run").exists()
    assert run(*flags(data, "--out", "run"))[0] == 0
    code, out, err = run(*flags(data, "--out", "run", "--resume", "--decide", "dice"))
    assert code == 0, err
    assert "epoch" not in out
    for decision in ("argmax", "dice"):
        assert f"Test scores of run, decided by {decision}: means over cases" in out
    assert {row.of.decision for row in read_cases(Path("run/cases.csv"))} == {"argmax", "dice"}


def test_a_run_that_fails_ends_with_exit_code_1(run, data, monkeypatch):
    from sizewise.train.training_step import Step

    with monkeypatch.context() as patch:
        patch.setattr(Step, "epoch_means", lambda self, steps: {"loss": float("nan")})
        code, _, err = run(*flags(data, "--out", "run"))
    assert code == 1
    assert err.startswith("sizewise: the loss became no number in epoch 1 (loss = nan). Lower --learning-rate")
    assert err.endswith("Nothing had been saved yet.\n")
    assert not Path("run").exists()
    code, _, err = run(*flags(data, "--out", "run", "--learning-rate", "1e-4"))  # the advice can be followed
    assert code == 0, err


def test_sizes_that_the_model_cannot_halve_are_padded(run, data):
    code, out, _ = run(*flags(data, "--size", "17x15", "--epochs", "1", "--out", "run"))
    assert code == 0, out


def test_whole_images_of_different_sizes(run, tmp_path):
    from data.layouts.kvasir_seg import write_kvasir_seg

    root = write_kvasir_seg(tmp_path / "kvasir", cases=8)
    code, out, err = run(*flags(root, "--size", "stored", "--epochs", "1", "--out", "run"))
    assert code == 0, err
    assert "Test scores" in out


def wait_for(path: Path, process, limit_s=600):
    end = time.monotonic() + limit_s
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def test_ctrl_c_ends_with_130_and_the_run_goes_on_later(data, tmp_path):
    """The built-in data, as in the README: its first epoch is seen in the pipe while the run goes on."""
    command = [*PROGRAM, "train", "--data", "synthetic", "--size", "16x16", "--epochs", "500", "--save-seconds", "0"]
    process = subprocess.Popen(
        [*command, "--out", "run", "--device", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=ONE_THREAD,
    )
    lines = [process.stdout.readline() for _ in range(3)]
    assert lines[0].startswith("synthetic: 160 training, 40 validation, 60 test cases, classes organ, cyst, lesion")
    assert lines[2].startswith("epoch   1/500  loss")
    wait_for(tmp_path / "run" / "last.pt", process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert said.splitlines() == [
        "run is intact: the same command with --resume --out run goes on.",
        "sizewise: interrupted.",
    ]
    assert (tmp_path / "run" / "history.csv").exists()


TWO = (
    "train --recipe demo --model monai-segresnet --size 16x16 --batch-size 4 --steps-per-epoch 2 --epochs 1 "
    "--device cpu --save-seconds 0 --workers 1"
)


def assert_same_within_rounding(folder, other):
    (one,), (two,) = history_without_times(folder), history_without_times(other)
    assert two == {name: pytest.approx(value, rel=1e-4, abs=1e-6) for name, value in one.items()}
    tables = [read_cases(path / "cases.csv") for path in (folder, other)]
    named = [[(row.of.decision, row.case, row.class_id, row.metric) for row in rows] for rows in tables]
    assert named[0] == named[1]


def test_a_run_of_two_processes_as_a_subprocess_does_what_one_does(run, data, tmp_path):
    """Group norm: no statistics over the batch, which is shared. The first process alone talks."""
    assert run(*TWO.split(), "--data", data, "--out", "one", "--decide", "dice")[0] == 0
    command = [*PROGRAM, *TWO.split(), "--data", str(data), "--devices", "2", "--decide", "dice"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=ONE_THREAD, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no library talks to the user
    lines = done.stdout.splitlines()
    assert "4 training, 2 validation, 2 test cases" in lines[0]
    assert lines[1].startswith("monai-segresnet with Loss(0.25 * CrossEntropy() + 0.75 * Jaccard(absent='skip')")
    assert "recipe demo, seed 0" in lines[1]
    assert lines[2].startswith("epoch 1/1  loss")
    assert lines[3] == "fitting the temperature of decisions on 2 validation cases"
    assert lines[4].startswith("scoring 2 test cases at full resolution, decided by argmax, dice at temperature ")
    assert lines[5].startswith("Test scores of runs/")
    (folder,) = (tmp_path / "runs").iterdir()
    assert lines[-1] == f"Next: sizewise predict runs/{folder.name} --data {data} --out predictions"
    assert {row.of.run for row in read_cases(folder / "cases.csv")} == {folder.name[-8:]}
    names = {file.name for file in folder.iterdir()}
    assert names >= {"config.json", "versions.json", "split.json", "history.csv", "cases.csv", "best.pt", "last.pt"}
    assert names >= {"curves.png", "curves.svg", "tensorboard", "preparation.json", "problem.json"}
    assert_same_within_rounding(tmp_path / "one", folder)
    one, two = (json.loads((place / "decision.json").read_text()) for place in (tmp_path / "one", folder))
    assert two == one | {"likelihood": pytest.approx(one["likelihood"], rel=1e-3), "temperature": two["temperature"]}
    assert two["temperature"] in (*TEMPERATURES, two["likelihood"])  # one of few: rounding may tip it


@pytest.mark.skipif(not EXHAUSTIVE, reason="five more processes: with SIZEWISE_EXHAUSTIVE=1")
def test_torchrun_and_a_failure_of_two_processes(run, data, tmp_path):
    assert run(*TWO.split(), "--data", data, "--out", "one")[0] == 0
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*start, "-m", "sizewise.cli.main", *TWO.split(), "--data", str(data), "--out", "two"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=ONE_THREAD, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("epoch 1/1") == 1
    assert_same_within_rounding(tmp_path / "one", tmp_path / "two")
    again = [*PROGRAM, *TWO.split(), "--data", str(data), "--out", "two", "--devices", "2"]
    done = subprocess.run(again, capture_output=True, text=True, cwd=tmp_path, env=ONE_THREAD, timeout=600)
    assert done.returncode == 2
    assert (
        done.stderr == "sizewise: two holds this run already, finished. Show it with --resume, or use another --out.\n"
    )


def test_a_run_has_the_threads_that_were_asked_for_and_keeps_them(run, data):
    assert run(*flags(data, "--threads", "2", "--out", "r"))[0] == 0
    assert json.loads(Path("r/versions.json").read_text())["threads"] == 2
    code, _, err = run(*flags(data, "--threads", "-1", "--out", "other"))
    assert code == 2
    assert "--threads must be from 0 to 1024, got -1" in err
