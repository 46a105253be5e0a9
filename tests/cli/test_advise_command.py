"""``sizewise advise`` as a user runs it, and the commands that it gives."""

import shlex
import sys

import pytest
import typer
from advice.made_evidence import features, made_set, two_worlds
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from report.synthetic_study import make_study

from sizewise.cli.commands import make_app
from sizewise.cli.main import main
from sizewise.study.study_words import parse_study


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sizewise.advice.evidence_table.read_evidence", two_worlds)

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["sizewise", "advise", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return left.value.code, printed.out, printed.err

    return called


def next_commands(out):
    return [line.removeprefix("Next: ").strip() for line in out[out.index("Next: ") :].splitlines()]


def test_an_answer_with_its_reasons_and_its_commands(run, tmp_path):
    write_image_folder(tmp_path / "my data")
    code, out, err = run("my data", "--groups", r"case \d+")
    assert code == 0, err
    for text in (
        "Sizes of 8 cases",
        "Regions, and the nearest sets of the evidence",
        "CE is better than each of the 2 other arms on the nearest sets.",  # these regions are large
        "As in every run of the evidence",
        "Each set left out in turn and advised from the others: within 0.5 DSC points of the best arm on 8 of 8",
        "Always saying DiceCE: within 0.5 DSC points of the best arm on 0 of 8",
        "which --dry-run makes",
    ):
        assert text in out
    train, plan, study = next_commands(out)
    shared = "--data 'my data' --groups 'case \\d+' --recipe picture"
    assert train == f"sizewise train {shared} --loss CE"
    assert study == f"sizewise compare {shared} --losses CE,DiceCE,RCE --seeds 3 --decisions argmax,dice --out advised"
    assert plan == f"{study} --dry-run"


def test_data_that_is_called_as_a_set_of_the_evidence_is_told_from_it(run, tmp_path):
    write_image_folder(tmp_path / "large 0")
    code, out, err = run("large 0")
    assert code == 0, err
    rows = [line for line in out.splitlines() if line.startswith(" large 0")]
    assert [row.startswith(" large 0 (yours) ") for row in rows] == [True, False]


@pytest.mark.parametrize("half", [0.002, 0.05])
def test_the_commands_parse(run, tmp_path, monkeypatch, half):
    scores = {"CE": 0.8, ("CE", "dice"): 0.81, "DiceCE": 0.8, ("DiceCE", "dice"): 0.812, "my:loss": 0.8}
    sets = [made_set(f"s{at}", features(), scores, half=half) for at in range(3)]
    monkeypatch.setattr("sizewise.advice.evidence_table.read_evidence", lambda: tuple(sets))
    write_multiclass_folder(tmp_path / "data")
    code, out, err = run("data", "--background", "none")
    assert code == 0, err
    apps = typer.main.get_command(make_app()).commands
    for line in next_commands(out):
        words = shlex.split(line)
        assert words[0] == "sizewise"
        context = apps[words[1]].make_context(words[1], words[2:])
        assert context.params["background"] == "none"
        if words[1] == "compare":
            assert parse_study({"data": "data", "losses": context.params["losses"]}).losses
    assert "--decide dice" in out


def test_a_weight_is_written_so_that_compare_reads_it():
    import sizewise as sw
    from sizewise.cli.advise_screen import _with_weight

    assert _with_weight("CE", None) == "CE"
    assert _with_weight("my:loss", 1.0) == "my:loss"
    for loss in ("DiceCE", "RCE", "RCE-KL", "JaccardCE", "CC-DiceCE"):
        assert repr(sw.loss(_with_weight(loss, 3.0))) == repr(sw.loss(loss, weight=3.0))


def test_own_studies_are_evidence(run, tmp_path, monkeypatch):
    monkeypatch.setattr("sizewise.advice.evidence_table.read_evidence", tuple)
    write_image_folder(tmp_path / "data")
    assert "no two losses with two seeds each on the nearest sets" in run("data")[2]
    make_study(tmp_path / "study", data=("spots",), overlays=0)
    code, out, err = run("data", "--evidence", "study")
    assert code == 0, err
    assert "spots" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "There is no folder 'nowhere'"),
        (("empty",), "is no data set that is known here. It holds: nothing"),
        (("data", "--evidence", "empty"), "--evidence: 'empty' has no study"),
        (("data", "--evidence", "none"), "--evidence: there is no folder 'none'"),
        (("data", "--split", "none.csv"), "--split: there is no file 'none.csv'"),
        (("data", "--split", "s.csv", "--folds", "5"), "--split and --folds each say which cases are tested"),
        (("data", "--background", "maybe"), "--background must be 0 or none, got 'maybe'"),
    ],
)
def test_wrong_use_is_a_sentence_in_flags(run, tmp_path, arguments, said):
    write_image_folder(tmp_path / "data")
    (tmp_path / "empty").mkdir()
    code, _, err = run(*arguments)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_no_masks_and_nothing_in_them(run, tmp_path):
    for folder in ("unlabelled", "blank", "full"):
        write_image_folder(tmp_path / folder, cases=3)
    for path in (tmp_path / "unlabelled" / "masks").iterdir():
        path.unlink()
    from PIL import Image

    for path in (tmp_path / "blank" / "masks").glob("case*.png"):
        Image.new("L", (32, 24)).save(path)
    for path in (tmp_path / "full" / "masks").glob("case*.png"):
        Image.new("L", (32, 24), 255).save(path)
    for folder, said in (
        ("unlabelled", "is no data set that is known here. It holds: images/, masks/."),
        ("blank", "No mask holds a region: the values are all 0."),
        ("full", "every mask is filled by one class from border to border"),
    ):
        code, _, err = run(folder)
        assert code == 2, folder
        assert err.startswith("sizewise: ")
        assert said in err
