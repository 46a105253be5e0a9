"""Label maps from elsewhere get the report of a study: `sizewise report --pred NAME=DIR --target DIR`."""

import csv
import re

import numpy as np
import pytest
from PIL import Image
from synthetic_study import make_study
from typer.testing import CliRunner

from sizewise.cli.commands import make_app
from sizewise.errors import BadInput


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


def test_the_same_label_maps_do_not_differ(tmp_path):
    truth, near = (label_maps(tmp_path / name, shift, cases=10) for name, shift in (("truth", 0), ("near", 1)))
    text = report_of(tmp_path, truth, ("near", near), ("twin", near))
    assert "**No model differs from near: the scores are the same in every case.**" in text


def test_of_one_set_of_predictions_each_the_better_one_is_named(tmp_path):
    """A difference of thirty points in every one of 12 cases; it is claimed of the predictions, not of the models."""
    truth, near, far = (
        label_maps(tmp_path / name, shift, cases=12) for name, shift in (("truth", 0), ("near", 1), ("far", 4))
    )
    text = report_of(tmp_path, truth, ("near", near), ("far", far), ("twin", near))
    assert "**far is worse than near.**" in text
    assert "«shown» are about new cases, not about new training runs." in text
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
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")
    result = CliRunner().invoke(make_app(), [*arguments[:-1], str(tmp_path / "run")])
    assert "is the folder of a training run" in str(result.exception)
