import csv
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
    for stem in ("differences", "violins", "sizes", "size-errors", "validation"):
        for ending in ("svg", "png", "csv"):
            assert any(name.startswith(stem) and name.endswith(ending) for name in figures), (stem, ending)
    assert {"overlays-1.png", "overlays.csv"} <= figures
    assert {"scores-1.tex", "comparisons.tex", "classes-1-dsc.tex"} <= {p.name for p in (folder / "tables").iterdir()}
    for path in (folder / "figures").glob("*.svg"):
        tree = ET.fromstring(path.read_text())  # well formed
        assert not [node for node in tree.iter() if node.tag.endswith(("}script", "}img"))]
    for path in (folder / "figures").glob("*.png"):
        Image.open(path).verify()


def test_every_view_is_drawn_where_asked(tmp_path):
    """Two data sets with two classes: violins have 2 + 4 views, of which 4 are drawn unless all are asked for."""
    study = make_study(tmp_path, data=("a", "b"), cases=3, seeds=1, runs=False, losses=("CE",))
    page = build_report(study)
    assert len(list((study / "figures").glob("violins*.svg"))) == 4
    assert "--every-view</code> draws all 6" in page.read_text()
    assert (study / "report.md").read_text().count("](figures/violins") == 4
    build_report(study, every_view=True)
    assert len(list((study / "figures").glob("violins*.svg"))) == 6
    assert (study / "report.md").read_text().count("](figures/violins") == 6


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
    assert "minus RCE" in assemble(study, reference="RCE").page.comparison_tables[0].title


def test_a_reference_with_several_temperatures_is_its_first(tmp_path):
    """results.csv calls the losses «RCE τ=1» and «RCE τ=10»; the study, and the user, say RCE."""
    study = make_study(tmp_path, data=("one",), cases=12, seeds=2, runs=False, losses=("CE", "DiceCE", "RCE"))
    table = study / "results.csv"
    table.write_text(table.read_text().replace(",DiceCE,0.1,", ",RCE τ=1,1,").replace(",RCE,1,", ",RCE τ=10,1,"))
    (study / "study.json").write_text(json.dumps({"reference": "RCE"}))
    for report in (assemble(study), assemble(study, reference="RCE")):
        assert report.page.comparison_tables[0].title == "Each loss minus RCE τ=1"
        assert "no results" not in str(report.page.verdict)


def test_another_metric_can_be_what_is_compared(tmp_path):
    """Dice makes every region a fifth too small in these made-up numbers, the others none: its size error is larger."""
    study = make_study(tmp_path, data=("one",), cases=24, seeds=3, runs=False, losses=("CE", "Dice"))
    page = assemble(study, metric="size_error").page
    assert page.verdict[0].lead == ("Dice is worse than CE. CE has the best mean, so there is no reason to leave it.")
    assert "points of size error" in page.verdict[0].claims[0]
    table = next(table for table in page.comparison_tables if table.name == "comparisons")
    assert table.columns[2] == "points of size error"
    assert table.rows[0][2].text.startswith("+")  # more error
    assert float(table.rows[0][7].text.replace("−", "-")) < 0  # and so a loss in rank-biserial terms
    for word in ("dice", "dsc_pooled"):
        with pytest.raises(BadInput, match=f"`metric` must be one of dsc, iou, nsd, hd95, .* got '{word}'"):
            assemble(study, metric=word)


def test_a_ranking_is_over_data_sets_or_over_enough_seeds(tmp_path):
    def names(folder, **options):
        study = make_study(tmp_path / folder, cases=12, runs=False, losses=("CE", "RCE"), **options)
        return [table.name for table in assemble(study).page.comparison_tables]

    assert "ranking" not in names("a", data=("one",), seeds=2)  # «first in 100 %» of what two seeds can say
    assert "ranking" in names("b", data=("one",), seeds=5)
    assert "ranking" in names("c", data=("one", "two"), seeds=2)


def test_data_sets_stand_side_by_side(tmp_path):
    study = make_study(tmp_path, data=("one", "two"), cases=12, seeds=2, runs=False, losses=("CE", "RCE"))
    page = assemble(study).page
    table = page.score_tables[0]
    assert table.columns == ["loss", "one", "two", "mean"]
    one, two, mean = (float(cell.text.split()[0]) for cell in table.rows[0][1:])
    assert mean == pytest.approx((one + two) / 2, abs=0.011)
    assert [row[1].rank for row in table.rows] == ["second", "best"]
    assert ("cases", "24") in page.facts  # twelve of each, though they have the same names


def test_one_loss_and_one_seed_are_no_comparison(tmp_path):
    alone = assemble(make_study(tmp_path / "a", data=("one",), cases=3, seeds=1, runs=False, losses=("CE",)))
    assert alone.page.verdict[0].lead == "Nothing to compare: CE is the only loss."
    few = assemble(make_study(tmp_path / "b", data=("one",), cases=12, seeds=1, runs=False, losses=("CE", "RCE")))
    untested = (
        "Nothing could be tested: one seed, where it takes 2 and better 3. That is not the same as no difference."
    )
    assert few.page.verdict[0].lead == untested  # and no advice
    assert few.page.comparison_tables[0].rows[0][4].text == "not testable"
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


def interrupt(study, stopped):
    """As Ctrl-C leaves a study: the runs that ``stopped`` picks by config have no scores, and no rows."""
    lines = (study / "results.csv").read_text().splitlines(keepends=True)
    for run in (study / "runs").iterdir():
        if stopped(json.loads((run / "config.json").read_text())):
            name = (run / "cases.csv").read_text().splitlines()[1].partition(",")[0]
            lines = [line for line in lines if not line.startswith(f"{name},")]
            (run / "cases.csv").unlink()
    (study / "results.csv").write_text("".join(lines))


def test_an_interrupted_study_calls_its_arms_as_the_whole_one_would(tmp_path):
    """Two data sets and two λ, stopped in the middle of the second data set: its only λ is still «RCE λ=0.1»."""
    study = make_study(
        tmp_path, data=("one", "two"), cases=12, seeds=2, overlays=0, weights=("0.1", "1"), losses=("CE", "RCE")
    )
    interrupt(study, lambda config: config["data"] == "two" and config["weight"] == "1")
    (study / "study.json").write_text(json.dumps({"reference": "RCE"}))
    page = assemble(study).page
    said = str(page.verdict)
    assert "no run of the reference" not in said
    assert [group.title for group in page.verdict if "CE" in group.lead][1:] == ["one", "two"]
    assert all("RCE λ=0.1" in group.lead for group in page.verdict if group.title in ("one", "two"))
    states = {(row[1].text, row[2].text, row[4].text) for row in page.protocol_tables[0].rows}
    assert ("two", "RCE λ=1", "unfinished") in states
    assert ("two", "RCE λ=0.1", "finished") in states


def test_runs_without_scores_count_when_arms_are_named(tmp_path):
    """Every run of λ = 1 was stopped: the table has one λ, the study two."""
    study = make_study(
        tmp_path, data=("one",), cases=12, seeds=2, overlays=0, weights=("0.1", "1"), losses=("CE", "RCE")
    )
    interrupt(study, lambda config: config["weight"] == "1")
    page = assemble(study).page
    assert [row[0].text for row in page.score_tables[0].rows] == ["CE", "RCE λ=0.1"]
    assert "2 runs are not finished" in page.alerts[0]


def test_groups_are_what_is_resampled(tmp_path):
    study = make_study(tmp_path, data=("one",), cases=24, seeds=2, runs=False, losses=("CE", "RCE"))
    (study / "groups.json").write_text(json.dumps({"one": {f"case {i:03d}": f"patient {i // 2}" for i in range(24)}}))
    said = assemble(study).page.verdict[0]
    assert "of 12 groups" in " ".join([*said.claims, *said.sentences])


def label_maps(folder, shift, *, cases=3):
    folder.mkdir()
    for number in range(cases):
        labels = np.zeros((24, 32), np.uint8)
        labels[4 + number % 5 : 14 + number % 5, 6 + shift : 16 + shift + number // 5] = 1
        Image.fromarray(labels).save(folder / f"case_{number}.png")
    return folder


def test_label_maps_from_elsewhere_get_the_same_report(tmp_path):
    truth, near, far = (label_maps(tmp_path / name, shift) for name, shift in (("truth", 0), ("near", 1), ("far", 4)))
    out = tmp_path / "report"
    arguments = ["report", "--pred", f"near={near}", "--pred", f"far={far}", "--target", str(truth), "--out", str(out)]
    result = CliRunner().invoke(make_app(), [*arguments, "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "report.html" in result.output
    assert "too few to compare far with near" in " ".join(result.output.split())  # the verdict is on the screen too
    text = (out / "report.md").read_text()
    assert "90.00" in text  # near: 9 of 10 columns overlap, 2·90 / (100 + 100)
    assert "60.00" in text  # far: 6 of 10
    assert "3 cases are too few to compare far with near" in text
    (row,) = csv.DictReader((out / "tables" / "comparisons.csv").read_text().splitlines())
    assert [row[name] for name in ("95 % interval", "p (Holm)", "Wilcoxon p (Holm)", "would show it")] == ["–"] * 4
    (row,) = csv.DictReader((out / "figures" / "differences.csv").read_text().splitlines())
    assert [row[name] for name in ("low", "high", "p", "p_holm")] == [""] * 4
    assert CliRunner().invoke(make_app(), ["report", str(out)]).exit_code == 0  # again from what was saved


def report_of(tmp_path, truth, *predictions):
    arguments = [word for name, folder in predictions for word in ("--pred", f"{name}={folder}")]
    out = tmp_path / "report"
    result = CliRunner().invoke(
        make_app(), ["report", *arguments, "--target", str(truth), "--out", str(out), "--jobs", "1"]
    )
    assert result.exit_code == 0, result.output
    return (out / "report.md").read_text()


def test_of_one_set_of_predictions_each_the_better_one_is_named(tmp_path):
    """A difference of thirty points in every one of 12 cases; it is claimed of the predictions, not of the models."""
    truth, near, far = (
        label_maps(tmp_path / name, shift, cases=12) for name, shift in (("truth", 0), ("near", 1), ("far", 4))
    )
    text = report_of(tmp_path, truth, ("near", near), ("far", far), ("twin", near))
    assert "**far is worse than near.**" in text
    said = next(line for line in text.splitlines() if line.startswith("- far scores"))
    assert re.search(r"far scores 2\d\.\d\d DSC points less than near, −[23]\d\.\d\d to −2\d\.\d\d DSC points", said), (
        said
    )
    assert "(95 % interval over new cases; 12 cases)" in said
    assert "about these very predictions" in text
    assert "twin and near give the same DSC in every case" in text
    assert "| model | DSC (%)" in text
    row = next(line for line in text.splitlines() if line.startswith("| all cases | far |"))
    assert row.split("|")[5].strip() == "yes, worse"  # in the table of comparisons, too
    assert "95 % intervals over new cases; what is shown" in text
    assert "loss" not in text.split("## Figures")[0].lower()


def test_a_model_may_come_with_several_training_runs(tmp_path):
    shifts = {"truth": 0, "a0": 1, "a1": 2, "b0": 4, "b1": 3}
    folders = {name: label_maps(tmp_path / name, shift, cases=12) for name, shift in shifts.items()}
    runs = [(name[0], folders[name]) for name in ("a0", "a1", "b0", "b1")]
    text = report_of(tmp_path, folders["truth"], *runs)
    assert "12 cases, mean ± standard deviation over 2 seeds" in text
    assert "2 seeds, 12 cases" in text


def test_the_patients_of_label_maps_can_be_told(tmp_path):
    """24 slices of 12 patients: patients are resampled, and a slice without a patient is an error."""
    truth, near, far = (
        label_maps(tmp_path / name, shift, cases=24) for name, shift in (("truth", 0), ("near", 1), ("far", 4))
    )
    table = tmp_path / "patients.csv"
    table.write_text("case,patient\n" + "".join(f"case_{i},p{i // 2}\n" for i in range(24)))
    options = ["--target", str(truth), "--out", str(tmp_path / "report"), "--jobs", "1", "--groups", str(table)]
    arguments = ["report", "--pred", f"near={near}", "--pred", f"far={far}", *options]
    result = CliRunner().invoke(make_app(), arguments)
    assert result.exit_code == 0, result.output
    assert "24 cases of 12 groups" in (tmp_path / "report" / "report.md").read_text()
    table.write_text("case_0,p0\ncase_1,p0\n")
    said = str(CliRunner().invoke(make_app(), arguments).exception)
    assert "has no group for case_10, case_11, case_12 and 19 more" in said
    table.write_text("case_0\n")
    assert "row 1: wanted two cells" in str(CliRunner().invoke(make_app(), arguments).exception)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a STUDY, or at least one --pred"),
        (["--pred", "a=b"], "together with --target"),
        (["x", "--pred", "a=b", "--target", "c"], "not both"),
        (["--pred", "ab", "--target", "c"], "must be NAME=DIR"),
        (["--pred", "a=b", "--pred", "a=b", "--target", "c"], "given twice"),
        (["--pred", "a=b", "--target", "c", "--reference", "d"], "must be one of a, got 'd'"),
        (["no-such-folder"], "is not a folder"),
        (["study", "--groups", "g.csv", "--jobs", "2"], "--groups, --jobs goes with --pred"),
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
