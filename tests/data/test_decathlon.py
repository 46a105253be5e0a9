"""The decathlon's layout, its quirks, and the real Hippocampus where it is at hand."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from data.layouts.amos_layout import write_amos
from data.layouts.decathlon_layout import write_brain, write_pancreas
from data.layouts.nnunet_layout import write_prostate
from data.layouts.tiny_volumes import labels, save, scan

from sizewise.data import amos, decathlon, nnunet_raw
from sizewise.data.open_options import OpenOptions
from sizewise.data.recognise import open_dataset
from sizewise.data.split import split_cases
from sizewise.errors import BadInput


def test_pancreas_is_read_as_published(tmp_path):
    dataset = open_dataset(write_pancreas(tmp_path))
    assert dataset.name == "Task07_Pancreas"
    assert dataset.classes == ("background", "pancreas", "cancer")  # by value, not by the order in the file
    assert dataset.modality == ("CT",)
    assert dataset.licence == "CC-BY-SA 4.0"
    assert "medicaldecathlon.com" in dataset.source
    assert [case.name for case in dataset.cases] == [*(f"pancreas_{n:03d}" for n in range(1, 7)), "pancreas_900"]
    assert dataset.cases[-1].target == ()
    assert dataset.cases[-1].subset == "test"
    assert np.bincount(dataset.reader.target(dataset.cases[0]).ravel()).tolist() == [277, 1, 2]


def test_the_papers_80_20_split_leaves_test_cases_out(tmp_path):
    dataset = open_dataset(write_pancreas(tmp_path, cases=20))
    split = split_cases(dataset, seed=0)
    assert len(split.test) == 4  # 20 % of 20
    assert len(split.validation) == 2  # a tenth of the other 16, rounded
    assert len(split.train) == 14
    assert "pancreas_900" not in split.train + split.validation + split.test


def test_4d_files_are_channels(tmp_path):
    dataset = open_dataset(write_brain(tmp_path))
    assert dataset.modality == ("FLAIR", "T1w", "t1gd", "T2w")
    assert dataset.reader.image(dataset.cases[0]).pixels.shape == (4, 8, 7, 5)
    assert any("numTraining 484 and lists 2" in note for note in dataset.notes)


def test_options_merge_and_name_the_modality(tmp_path):
    dataset = open_dataset(write_pancreas(tmp_path), merge=True, modality=("PET",))
    assert dataset.classes == ("background", "foreground")
    assert dataset.modality == ("PET",)
    assert np.bincount(dataset.reader.target(dataset.cases[0]).ravel()).tolist() == [277, 3]


def test_lists_with_a_labelled_validation_keep_it(tmp_path):
    root = write_pancreas(tmp_path)
    info = json.loads((root / "dataset.json").read_text())
    info["validation"] = info["training"][:2]
    info["training"] = info["training"][2:]
    (root / "dataset.json").write_text(json.dumps(info))
    dataset = open_dataset(root)
    assert [case.subset for case in dataset.cases] == ["train"] * 4 + ["validation"] * 2 + ["test"]


def test_version_1_of_nnunet_lists_cases_without_the_channel_number(tmp_path):
    root = tmp_path / "Task100_Old"
    for channel in range(2):
        save(root / "imagesTr" / f"a_{channel:04d}.nii.gz", scan(channel))
    save(root / "labelsTr" / "a.nii.gz", labels(classes=2))
    info = {
        "modality": {"0": "T1", "1": "T2"},
        "labels": {"0": "background", "1": "lesion"},
        "training": [{"image": "./imagesTr/a.nii.gz", "label": "./labelsTr/a.nii.gz"}],
        "test": [],
    }
    (root / "dataset.json").write_text(json.dumps(info))
    dataset = decathlon.load(root, options=OpenOptions())
    assert [file.name for file in dataset.cases[0].images] == ["a_0000.nii.gz", "a_0001.nii.gz"]
    assert dataset.reader.image(dataset.cases[0]).pixels.shape == (2, 8, 7, 5)


def test_the_three_layouts_with_a_dataset_json_are_told_apart(tmp_path):
    roots = {decathlon: write_pancreas(tmp_path), nnunet_raw: write_prostate(tmp_path), amos: write_amos(tmp_path)}
    for owner, root in roots.items():
        assert [module for module in roots if module.recognise(root)] == [owner]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": {"0": "background"}}, "labels must hold 0, the background, and one more"),
        ({"labels": ["background", "liver"]}, "labels must be like"),
        ({"labels": {"background": 0}}, "labels must be like"),
        ({"training": {"a": 1}}, "training must be a list"),
        ({"training": [{"picture": "a"}]}, "an entry of training must be like"),
        ({"training": []}, "no entry of training has a label"),
        ({"training": [], "test": []}, "no case found"),
        ({"training": [{"image": "./imagesTr/pancreas_001.nii.gz", "label": "./labelsTr/a.nii.gz"}] * 2}, "two cases"),
    ],
)
def test_mistakes_in_dataset_json_are_named(tmp_path, change, message):
    root = write_pancreas(tmp_path)
    info = json.loads((root / "dataset.json").read_text())
    (root / "dataset.json").write_text(json.dumps(info | change))
    with pytest.raises(BadInput, match=message):
        decathlon.load(root, options=OpenOptions())


def test_two_labels_of_one_name_are_refused(tmp_path):
    root = write_pancreas(tmp_path)  # scores are told apart by the name of their class
    info = json.loads((root / "dataset.json").read_text())
    (root / "dataset.json").write_text(json.dumps(info | {"labels": {"0": "background", "1": "mass", "2": "mass"}}))
    with pytest.raises(BadInput, match="two classes are called 'mass'"):
        open_dataset(root)


def test_a_broken_dataset_json_is_named_when_the_layout_is(tmp_path):
    root = write_pancreas(tmp_path)
    (root / "dataset.json").write_text('{"labels": ')
    assert not decathlon.recognise(root)
    with pytest.raises(BadInput, match=r"dataset\.json' is not valid JSON"):
        open_dataset(root, name="decathlon")


def test_the_real_hippocampus():
    root = Path(os.environ.get("SIZEWISE_DATA", Path(__file__).parents[3] / "shared" / "data")) / "Task04_Hippocampus"
    if not root.is_dir():
        pytest.skip("Task04_Hippocampus is not here: SIZEWISE_DATA names the folder it lies in")
    dataset = open_dataset(root)
    assert dataset.classes == ("background", "Anterior", "Posterior")
    split = split_cases(dataset, seed=0)
    assert len(split.test) == 52  # a fifth of 260
    case = dataset.cases[0]
    image, target = dataset.reader.image(case), dataset.reader.target(case)
    assert image.pixels.shape[1:] == target.shape
    assert image.spacing == (1.0, 1.0, 1.0)
    assert set(np.unique(target)) == {0, 1, 2}
