"""nnU-Net's raw layout: channels, ignore label, regions, pictures, its own list."""

import json

import nibabel as nib
import numpy as np
import pytest
from data.layouts.nnunet_layout import write_prostate, write_roads
from data.layouts.tiny_volumes import labels

from sizewise.data.check import check_dataset
from sizewise.data.recognise import open_dataset
from sizewise.data.split import split_cases
from sizewise.errors import BadInput


def change_json(root, **change):
    info = json.loads((root / "dataset.json").read_text())
    (root / "dataset.json").write_text(json.dumps(info | change))


def test_prostate_has_two_channels_and_an_unlabelled_test_case(tmp_path):
    dataset = open_dataset(write_prostate(tmp_path))
    assert dataset.name == "Dataset005_Prostate"
    assert dataset.classes == ("background", "PZ", "TZ")
    assert dataset.modality == ("T2", "ADC")
    assert dataset.reader.image(dataset.cases[0]).pixels.shape == (2, 8, 7, 5)
    assert [case.subset for case in dataset.cases] == ["", "", "", "", "test"]
    assert dataset.cases[-1].target == ()
    assert check_dataset(dataset).findings == ()


def test_the_ignore_label_is_no_class(tmp_path):
    table = {"background": 0, "PZ": 1, "TZ": 2, "ignore": 3}
    dataset = open_dataset(write_prostate(tmp_path, label_table=table))
    assert dataset.classes == ("background", "PZ", "TZ")
    assert dataset.ignore_index == 3
    assert np.bincount(dataset.reader.target(dataset.cases[0]).ravel()).tolist() == [280 - 6, 1, 2, 3]
    assert check_dataset(dataset).sizes[0].valid == 280 - 3


REGIONS = {"background": 0, "whole": [1, 2, 3], "core": [2, 3], "enhancing": 3}


def test_regions_are_multi_label(tmp_path):
    root = write_prostate(tmp_path, label_table=REGIONS, regions_class_order=[1, 2, 3])
    dataset = open_dataset(root)
    assert dataset.activation == "sigmoid"
    assert dataset.classes == ("whole", "core", "enhancing")
    target = dataset.reader.target(dataset.cases[0])
    assert [int(channel.sum()) for channel in target] == [1 + 2 + 3, 2 + 3, 3]
    written = nib.load(dataset.reader.write(target, dataset.cases[0], tmp_path / "out"))
    assert np.array_equal(np.asanyarray(written.dataobj), labels(classes=4))
    assert check_dataset(dataset).sizes[0].counts == (6, 5, 3)
    merged = open_dataset(root, merge=True)
    assert merged.activation == "softmax"
    assert int(merged.reader.target(merged.cases[0]).sum()) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": REGIONS}, "regions_class_order must list as many values, got None"),
        ({"labels": REGIONS | {"ignore": 4}, "regions_class_order": [1, 2, 3]}, "regions with ignored"),
        ({"labels": {"0": "background", "1": "PZ"}}, "the other way round"),
        ({"labels": {"background": 0, "PZ": 1, "TZ": 1}}, "two labels have one value"),
        ({"labels": {"PZ": 1, "TZ": 2}}, "labels must hold 0"),
        ({"file_ending": ".mha"}, r"file_ending is '\.mha'.*convert other volumes"),
        ({"dataset": {"a": {"image": "x"}}}, "dataset must be like"),
    ],
)
def test_mistakes_in_dataset_json_are_named(tmp_path, change, message):
    root = write_prostate(tmp_path)
    change_json(root, **change)
    with pytest.raises(BadInput, match=message):
        open_dataset(root)


def test_a_file_without_its_channel_number_is_named(tmp_path):
    root = write_prostate(tmp_path)
    (root / "imagesTr" / "prostate_00_0000.nii.gz").rename(root / "imagesTr" / "prostate_00.nii.gz")
    with pytest.raises(BadInput, match=r"prostate_00\.nii\.gz'.*CASE_0000\.nii\.gz"):
        open_dataset(root)


def test_a_missing_channel_is_named(tmp_path):
    root = write_prostate(tmp_path)
    (root / "imagesTr" / "prostate_01_0001.nii.gz").unlink()
    findings = check_dataset(open_dataset(root)).findings
    assert [finding.case for finding in findings] == ["prostate_01"]
    assert "wanted 2 channels, got 1" in findings[0].message


def test_its_own_list_of_files_is_followed(tmp_path):
    root = write_prostate(tmp_path)
    files = {
        "images": [f"imagesTr/prostate_03_{c:04d}.nii.gz" for c in range(2)],
        "label": "labelsTr/prostate_03.nii.gz",
    }
    change_json(root, dataset={"listed": files})
    dataset = open_dataset(root)
    assert [case.name for case in dataset.cases] == ["listed", "prostate_77"]
    assert dataset.reader.target(dataset.cases[0]).max() == 2


def test_nnunets_reorienting_reader_is_honoured(tmp_path):
    root = write_prostate(tmp_path)
    stored = open_dataset(root)
    change_json(root, overwrite_image_reader_writer="NibabelIOWithReorient")
    turned = open_dataset(root)
    before, after = (d.reader.image(d.cases[0]).pixels for d in (stored, turned))
    assert np.array_equal(after, before[:, ::-1])  # the fixture's first axis points left


def test_pictures_with_labelled_test_cases(tmp_path):
    dataset = open_dataset(write_roads(tmp_path))
    assert dataset.spatial_dims == 2
    assert dataset.modality == ("RGB",)
    assert dataset.reader.image(dataset.cases[0]).pixels.shape == (3, 12, 10)
    assert dataset.reader.target(dataset.cases[0]).max() == 1
    split = split_cases(dataset, seed=0)
    assert split.test == ("Ts-0", "Ts-1")  # the official test set
    assert len(split.train) == 4
    assert len(split.validation) == 1
    assert check_dataset(dataset).findings == ()
