import numpy as np
import pytest
from data.layouts.retinal_lesions import write_retinal_lesions
from PIL import Image

from sizewise.data.open_options import OpenOptions
from sizewise.data.retinal_lesions import load, recognise
from sizewise.errors import BadInput


def test_all_lesions_become_one_class(tmp_path):
    root = write_retinal_lesions(tmp_path)
    assert recognise(root)
    dataset = load(root, options=OpenOptions())
    assert dataset.classes == ("background", "lesion")
    assert dataset.activation == "softmax"
    assert dataset.fractions == (0.7, 0.1, 0.2)
    assert len(dataset.cases) == 12
    for case in dataset.cases:
        masks = [np.asarray(Image.open(path)) for path in case.target if path is not None]
        assert len(masks) == (0 if case.name == "105_right" else 2)  # no folder of masks: no lesion
        union = sum(masks, start=np.zeros((64, 64))) > 0
        np.testing.assert_array_equal(dataset.reader.target(case), union)


def test_grey_127_counts_as_a_lesion(tmp_path):
    dataset = load(write_retinal_lesions(tmp_path), options=OpenOptions())
    case = dataset.cases[0]
    mask = np.asarray(Image.open(next(path for path in case.target if path.stem == "microaneurysm")))
    assert set(np.unique(mask)) == {0, 127}
    assert dataset.reader.target(case)[mask == 127].all()
    assert "127" in dataset.notes[0]


def test_both_eyes_of_a_patient_stay_together(tmp_path):
    dataset = load(write_retinal_lesions(tmp_path), options=OpenOptions())
    assert {case.name: case.group for case in dataset.cases[:3]} == {
        "100_left": "100",
        "100_right": "100",
        "101_left": "101",
    }


def test_the_lists_of_the_papers_code_give_the_subsets(tmp_path):
    dataset = load(write_retinal_lesions(tmp_path, lists=True), options=OpenOptions())
    assert [case.subset for case in dataset.cases] == ["train"] * 6 + ["validation"] * 2 + ["test"] * 4
    (tmp_path / "val.txt").write_text("999_left\n")
    with pytest.raises(BadInput, match=r"val\.txt' names '999_left'"):
        load(tmp_path, options=OpenOptions())


def test_an_unknown_lesion_and_another_layout_are_named(tmp_path):
    root = write_retinal_lesions(tmp_path / "set")
    folder = root / "lesion_segs_896x896" / "100_left"
    next(folder.iterdir()).rename(folder / "drusen.png")
    with pytest.raises(BadInput, match=r"drusen\.png' is none of the known lesions"):
        load(root, options=OpenOptions())
    with pytest.raises(BadInput, match="wanted the folders images_896x896"):
        load(tmp_path, options=OpenOptions())
