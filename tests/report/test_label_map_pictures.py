"""A report of label maps from elsewhere, with the images that they are of: pictures, names, units, and part of the cases."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from sizewise.cli.commands import make_app
from sizewise.data.names_beside import names_beside
from sizewise.report.build import assemble
from sizewise.report.gallery import read_overlay


@pytest.fixture
def folders(tmp_path):
    """Twelve targets called x_mask, their images x, and two models, of which one lacks the last two cases."""
    for name in ("images", "masks", "near", "far"):
        (tmp_path / name).mkdir()
    for number in range(12):
        labels = np.zeros((24, 32), np.uint8)
        labels[4:14, 6:16] = 1
        picture = np.random.default_rng(number).integers(0, 255, (24, 32, 3), dtype=np.uint8)
        Image.fromarray(picture).save(tmp_path / "images" / f"case_{number:02}.png")
        Image.fromarray(labels).save(tmp_path / "masks" / f"case_{number:02}_mask.png")
        for model, shift in (("near", 1), ("far", 4)):
            if model == "near" or number < 10:
                Image.fromarray(np.roll(labels, shift, 1)).save(tmp_path / model / f"case_{number:02}.png")
    (tmp_path / "classes.csv").write_text("name,value\nbackground,0\npolyp,1\n")
    return tmp_path


def report(folders, *more):
    arguments = ["--pred", f"near={folders / 'near'}", "--pred", f"far={folders / 'far'}", "--jobs", "1"]
    arguments += ["--target", str(folders / "masks"), "--out", str(folders / "report"), *more]
    return CliRunner().invoke(make_app(), ["report", *arguments])


def test_pictures_names_and_pixels(folders):
    result = report(folders, "--cases", "predicted", "--images", str(folders / "images"))
    assert result.exit_code == 0, result.output
    made = assemble(folders / "report")  # again from what was saved
    (gallery,) = made.page.gallery
    assert len(gallery["cases"]) == 10  # those that both models have
    assert [shown["loss"] for shown in gallery["cases"][0]["shown"]] == ["near", "far"]
    assert gallery["classes"][0]["name"] == "polyp"
    overlay = read_overlay(next((folders / "report" / "pictures" / "far").glob("*.npz")))
    assert (overlay.target > 0).sum() == 100
    table = made.page.score_tables[0]
    assert "HD95 (pixels)" in table.columns
    assert "10 cases" in table.note


def test_a_missing_prediction_is_an_error_unless_the_user_says_so(folders):
    with pytest.raises(Exception, match=r"2 of 12 targets have no prediction.*--cases predicted"):
        raise report(folders).exception


def test_images_of_other_cases_are_a_sentence(folders):
    error = report(folders, "--cases", "predicted", "--images", str(folders / "far" / "..")).exception
    assert "has no image of a case" in str(error)
    study = folders / "report"
    again = CliRunner().invoke(make_app(), ["report", str(study), "--images", "x", "--cases", "predicted"]).exception
    assert "goes with --pred" in str(again)


@pytest.mark.parametrize(
    ("labels", "regions", "names"),
    [
        ({"background": 0, "liver": 1, "tumour": 2}, (), {0: "background", 1: "liver", 2: "tumour"}),
        ({"0": "background", "1": "liver"}, (), {0: "background", 1: "liver"}),
        ({"background": 0, "organ": [1, 2], "tumour": [2]}, ((2,), (1, 2)), {1: "tumour", 2: "organ"}),
        ({"liver": "one"}, (), {}),
    ],
)
def test_names_come_from_dataset_json(tmp_path, labels, regions, names):
    (tmp_path / "labelsTr").mkdir()
    content = {"labels": labels, "regions_class_order": [1, 2]}
    (tmp_path / "dataset.json").write_text(json.dumps(content))
    assert names_beside(tmp_path / "labelsTr", regions=regions) == names
