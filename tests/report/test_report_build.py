import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image
from synthetic_study import NASTY, make_study
from typer.testing import CliRunner

from sizewise.cli.commands import make_app
from sizewise.errors import BadInput
from sizewise.report.build import assemble, build_report
from sizewise.report.page import render


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    """A whole report of a study whose names are hostile."""
    study = make_study(
        tmp_path_factory.mktemp("nasty"),
        data=(f"set {NASTY}",),
        cases=12,
        seeds=2,
        nasty=True,
        overlays=3,
        losses=("CE", "RCE"),
    )
    failed = study / "runs" / "broken"
    failed.mkdir()
    (failed / "failed.json").write_text(json.dumps({"error": f"no memory {NASTY}"}))
    return build_report(study)


def test_everything_is_written(nasty):
    folder = nasty.parent
    figures = {path.name for path in (folder / "figures").iterdir()}
    for stem in ("differences", "violins", "penalties", "temperature", "validation", "cost"):
        for ending in ("svg", "png", "csv"):
            assert any(name.startswith(stem) and name.endswith(ending) for name in figures), (stem, ending)
    assert {"overlays-1.png", "overlays.csv"} <= figures
    assert {"scores-1.tex", "comparisons.tex", "classes-1-dsc.tex"} <= {p.name for p in (folder / "tables").iterdir()}
    for path in (folder / "figures").glob("*.svg"):
        tree = ET.fromstring(path.read_text())  # well formed
        assert not [node for node in tree.iter() if node.tag.endswith(("}script", "}img"))]
    for path in (folder / "figures").glob("*.png"):
        Image.open(path).verify()


def test_hostile_names_stay_words(nasty):
    page = nasty.read_text()
    assert "<img src=x" not in page
    assert "onerror=alert(1)&gt;" in page  # it is shown, as text
    assert page.count("<script") == page.count("</script>")
    assert "<img" not in (nasty.parent / "report.md").read_text()
    assert "</script>" not in "".join(p.read_text() for p in (nasty.parent / "figures").glob("*.svg"))


def test_the_page_needs_nothing_else(nasty):
    page = nasty.read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page)
    assert "@import" not in page
    assert "url(http" not in page


def test_a_failed_run_is_named(nasty):
    assert "Run broken failed: no memory &lt;/script&gt;" in nasty.read_text()


def test_the_same_study_gives_the_same_page(nasty):
    assert render(assemble(nasty.parent).page) == nasty.read_text()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({}, "holds no study.json"),
        ({"study.json": "{"}, "cannot be read"),
        ({"study.json": "{}"}, "cannot read"),
        ({"study.json": "{}", "results.csv": "a,b\n"}, "wanted the columns"),
        ({"study.json": "[]", "results.csv": ""}, "must hold an object"),
    ],
)
def test_what_is_no_study_gets_a_sentence(tmp_path, content, sentence):
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=sentence):
        build_report(tmp_path)


def test_an_unknown_reference_is_refused(tmp_path):
    study = make_study(tmp_path, data=("one",), cases=12, seeds=2, runs=False, losses=("CE", "RCE"))
    with pytest.raises(BadInput, match="must be one of CE, RCE, got 'Dyce'"):
        assemble(study, reference="Dyce")
    assert "minus RCE" in assemble(study, reference="RCE").page.score_tables[1].title


def test_one_loss_and_one_seed_are_no_comparison(tmp_path):
    alone = assemble(make_study(tmp_path / "a", data=("one",), cases=3, seeds=1, runs=False, losses=("CE",)))
    assert alone.page.verdict[0].lead == "Nothing to compare: CE is the only loss."
    few = assemble(make_study(tmp_path / "b", data=("one",), cases=12, seeds=1, runs=False, losses=("CE", "RCE")))
    assert few.page.verdict[0].lead == "No loss can be shown to differ from CE."
    assert "One seed cannot separate RCE from luck" in few.page.verdict[0].sentences[0]


def test_a_study_that_is_not_finished_has_a_report(tmp_path):
    study = make_study(tmp_path, data=("one",), cases=12, seeds=2, runs=False, losses=("CE", "Dice", "RCE"))
    table = study / "results.csv"
    lines = [line.split(",") for line in table.read_text().splitlines(keepends=True)]
    runs = (("CE", "0"), ("Dice", "0"), ("RCE", "1"))
    table.write_text("".join(",".join(line) for line in lines if line[0] == "run" or (line[3], line[5]) in runs))
    verdict = assemble(study).page.verdict
    assert verdict[-1].sentences == ["one: RCE has no seed in common with CE, so it is not compared."]
    assert "Dice" in verdict[0].sentences[0]
    table.write_text("".join(",".join(line) for line in lines if line[3] != "CE"))  # the study's reference failed
    assert "The study's reference CE has no results." in assemble(study).page.verdict[-1].sentences


def test_patients_are_what_is_resampled(tmp_path):
    study = make_study(tmp_path, data=("one",), cases=24, seeds=2, runs=False, losses=("CE", "RCE"))
    (study / "groups.json").write_text(json.dumps({"one": {f"case {i:03d}": f"patient {i // 2}" for i in range(24)}}))
    said = assemble(study).page.verdict[0]
    assert "of 12 patients" in " ".join([*said.claims, *said.sentences])


def label_maps(folder, shift):
    folder.mkdir()
    for number in range(3):
        labels = np.zeros((24, 32), np.uint8)
        labels[4 + number : 14 + number, 6 + shift : 16 + shift] = 1
        Image.fromarray(labels).save(folder / f"case_{number}.png")
    return folder


def test_label_maps_from_elsewhere_get_the_same_report(tmp_path):
    truth, near, far = (label_maps(tmp_path / name, shift) for name, shift in (("truth", 0), ("near", 1), ("far", 4)))
    out = tmp_path / "report"
    arguments = ["report", "--pred", f"near={near}", "--pred", f"far={far}", "--target", str(truth), "--out", str(out)]
    result = CliRunner().invoke(make_app(), [*arguments, "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "report.html" in result.output
    text = (out / "report.md").read_text()
    assert "90.00" in text  # near: 9 of 10 columns overlap, 2·90 / (100 + 100)
    assert "60.00" in text  # far: 6 of 10
    assert "3 cases are too few to compare far with near" in text
    assert CliRunner().invoke(make_app(), ["report", str(out)]).exit_code == 0  # again from what was saved


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a STUDY, or at least one --pred"),
        (["--pred", "a=b"], "together with --target"),
        (["x", "--pred", "a=b", "--target", "c"], "not both"),
        (["--pred", "ab", "--target", "c"], "must be NAME=DIR"),
        (["--pred", "a=b", "--pred", "a=c", "--target", "c"], "given twice"),
        (["no-such-folder"], "is not a folder"),
    ],
)
def test_wrong_use_gets_a_sentence(arguments, sentence):
    result = CliRunner().invoke(make_app(), ["report", *arguments])
    assert isinstance(result.exception, BadInput)
    assert sentence in str(result.exception)


def test_label_maps_do_not_overwrite_a_study(tmp_path):
    study = make_study(tmp_path / "study", data=("one",), cases=2, seeds=1, runs=False, losses=("CE",))
    truth = label_maps(tmp_path / "truth", 0)
    arguments = ["report", "--pred", f"a={truth}", "--target", str(truth), "--out", str(study)]
    result = CliRunner().invoke(make_app(), arguments)
    assert "is not overwritten" in str(result.exception)
