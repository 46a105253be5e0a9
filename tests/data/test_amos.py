"""AMOS: CT by default, official subsets, official names."""

import numpy as np
import pytest
from data.layouts.amos_layout import OFFICIAL_LABELS, write_amos

from sizewise.data import amos
from sizewise.data.check import check_dataset
from sizewise.data.recognise import open_dataset
from sizewise.data.split import split_cases
from sizewise.errors import BadInput


@pytest.mark.parametrize("with_json", [True, False])
def test_ct_alone_with_the_official_subsets(tmp_path, with_json):
    dataset = open_dataset(write_amos(tmp_path, with_json=with_json))
    assert dataset.name == "amos"
    assert dataset.modality == ("CT",)
    assert {(case.name, case.subset) for case in dataset.cases} == {
        *((f"amos_{number:04d}", "train") for number in (1, 4, 5, 6)),
        *((f"amos_{number:04d}", "validation") for number in (8, 13)),
        *((f"amos_{number:04d}", "test") for number in (2, 500)),
    }
    assert len(dataset.classes) == 16
    if with_json:
        assert dataset.classes == OFFICIAL_LABELS
    assert any("3 other cases are left out" in note for note in dataset.notes)
    assert np.bincount(dataset.reader.target(dataset.cases[0]).ravel())[1:].tolist() == list(range(1, 16))
    findings = check_dataset(dataset).findings
    assert {finding.level for finding in findings} == {"warning"}  # MRI lies there, unused; its masks are no error
    assert sum("has 1 image that no case uses" in finding.message for finding in findings) == 3


def test_the_official_validation_is_scored_and_never_chooses_the_checkpoint(tmp_path):
    split = split_cases(open_dataset(write_amos(tmp_path)), seed=3)
    assert split.test == ("amos_0008", "amos_0013")
    assert len(split.validation) == 1
    assert sorted(split.train + split.validation) == [f"amos_{number:04d}" for number in (1, 4, 5, 6)]


def test_mri_and_both(tmp_path):
    root = write_amos(tmp_path)
    assert [case.name for case in open_dataset(root, modality=("MRI",)).cases] == [
        "amos_0507",
        "amos_0508",
        "amos_0551",
    ]
    both = open_dataset(root, modality=("CT", "MRI"))
    assert len(both.cases) == 11
    assert both.modality == ("MRI",)  # scaled case by case
    with pytest.raises(BadInput, match="modality must be CT, MRI or both, got PET"):
        open_dataset(root, modality=("PET",))


def test_the_folder_that_holds_amos22_will_do(tmp_path):
    write_amos(tmp_path)
    assert open_dataset(tmp_path).name == "amos"


def test_a_name_without_a_number_is_refused(tmp_path):
    root = write_amos(tmp_path, with_json=False)
    (root / "imagesTr" / "amos_0001.nii.gz").rename(root / "imagesTr" / "amos_one.nii.gz")
    with pytest.raises(BadInput, match="case amos_one has no number"):
        open_dataset(root)


def test_organs_match_the_papers_table():
    assert len(amos.ORGANS) == 15
    assert amos.ORGANS[5] == "liver"  # label 6
