"""``sizewise diagnose`` as a user runs it, and the command that it gives for the first step."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from diagnosis.written_cases import write_cases

from sizewise.cli.diagnose_screen import first_command
from sizewise.cli.main import main
from sizewise.train.config import RunConfig
from sizewise.train.recipes import RECIPES


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sizewise.diagnosis.diagnosis_page.draw_all", lambda *given: None)

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["sizewise", "diagnose", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return left.value.code, printed.out, printed.err

    return called


def test_folders(run, tmp_path):
    write_cases(tmp_path, count=8)
    code, out, err = run("--pred", "pred", "--target", "true", "--probabilities", "probs", "--out", "found")
    assert code == 0, err
    assert "(b) … at a fitted temperature" in out
    assert "Change the network, its data or its training" in out  # labels are drawn from p, so sizes are right
    assert "Next: sizewise compare --data YOUR_DATA --losses CE --models MODEL,LARGER_MODEL --seeds 3" in out
    assert Path("found/diagnosis.html").exists()
    assert run("--target", "true", "--probabilities", "probs", "--out", "found")[0] == 0  # once more, over it
    code, _, err = run("--target", "true", "--probabilities", "probs", "--out", "pred/c0.png")
    assert code == 2
    assert "--out 'pred/c0.png' cannot be made: File exists. Name another folder." in err


def test_without_probabilities_it_says_how_to_get_them(run, tmp_path):
    write_cases(tmp_path, count=3)
    code, out, err = run("--pred", "pred", "--target", "true")
    assert code == 0, err
    assert "Next: sizewise diagnose --pred pred --target true --probabilities FOLDER_OF_PROBABILITIES" in out
    assert "give the folder that they write as --probabilities" in out


def test_wrong_use_is_a_sentence_in_flags(run, tmp_path):
    write_cases(tmp_path, count=2)
    code, _, err = run("--target", "true")
    assert code == 2
    assert (
        err.strip() == "sizewise: --target alone say nothing: give --pred, a folder of label maps, or --probabilities."
    )
    code, _, err = run()
    assert code == 2
    assert "wanted a run folder, or --target with --pred" in err


def test_a_loss_is_not_compared_with_itself_under_another_name(monkeypatch):
    config = RunConfig("d", loss="RCE-L1", recipe="demo", loss_options=(("temperature", 5.0),), **RECIPES["demo"])
    monkeypatch.setattr("sizewise.cli.diagnose_screen.read_config", lambda run: config)
    found = SimpleNamespace(advice=SimpleNamespace(step="loss"))
    unused = dict.fromkeys(("pred", "target", "probabilities"))
    given = first_command(found, run=Path("r"), activation="softmax", background="0", **unused)
    assert " --losses 'RCE-L1(temperature=5.0),JaccardCE' " in given


@pytest.mark.parametrize(
    ("step", "trained", "wanted"),
    [
        ("fitted decision", True, "sizewise predict r --data d --decide dice --out decided"),
        ("decision", True, "sizewise predict r --data d --decide dice --temperature 1 --out decided"),
        (
            "fitted decision",
            False,
            "sizewise decide --probabilities p --out decided --temperature 1.5 --background none",
        ),
        (
            "loss",
            True,
            "sizewise compare --data d --recipe demo --ignore-index 255 --background none --size 96x128 "
            "--losses 'RCE(weight=0.5),JaccardCE' --models monai-unet --seeds 3 --out study-of-r",
        ),
        (
            "network",
            True,
            "sizewise compare --data d --recipe demo --ignore-index 255 --background none --size 96x128 "
            "--losses 'RCE(weight=0.5)' --models monai-unet,monai-dynunet --seeds 3 --out study-of-r",
        ),
        ("loss", False, "sizewise compare --data YOUR_DATA --losses CE,JaccardCE,RCE --seeds 3"),
        ("network", False, "sizewise compare --data YOUR_DATA --losses CE --models MODEL,LARGER_MODEL --seeds 3"),
        ("nothing", True, ""),
    ],
)
def test_the_first_command(monkeypatch, step, trained, wanted):
    given = RECIPES["demo"] | {"model": "monai-unet", "size": (96, 128), "ignore_index": 255, "background": "none"}
    config = RunConfig("d", loss="RCE", weight=0.5, recipe="demo", **given)
    monkeypatch.setattr("sizewise.cli.diagnose_screen.read_config", lambda run: config)
    found = SimpleNamespace(advice=SimpleNamespace(step=step), temperature=1.5)
    given = first_command(
        found,
        run=Path("r") if trained else None,
        pred=None if trained else Path("q"),
        target=None,
        probabilities=None if trained else Path("p"),
        activation="softmax",
        background="none" if not trained else "0",
    )
    assert given == wanted
