"""Groups: what the user says, published ways of naming, and names that look like repeats."""

import pytest
from data.layouts.cvc_clinicdb import write_cvc_clinicdb
from data.layouts.named_folders import acdc_names, write_acdc, write_busi, write_chase, write_pictures

from sizewise.data.case_groups import groups_by
from sizewise.data.check import check_dataset
from sizewise.data.cvc_clinicdb import FRAMES
from sizewise.data.recognise import open_dataset
from sizewise.data.split_options import SplitOptions, make_split
from sizewise.data.subject_names import repeated_subjects
from sizewise.errors import BadInput


def sides(dataset, split):
    """The groups of train, validation and test."""
    group = {case.name: case.group or case.name for case in dataset.cases}
    return [{group[name] for name in side} for side in (split.train, split.validation, split.test)]


def refuse_straddling(dataset, split):
    train, validation, test = sides(dataset, split)
    assert not train & validation
    assert not train & test
    assert not validation & test


@pytest.mark.parametrize("options", [SplitOptions(), SplitOptions(test_share=0.3), SplitOptions(folds=5, fold=2)])
def test_acdc_by_patient_in_nnunets_layout(tmp_path, options):
    dataset = open_dataset(write_acdc(tmp_path / "Dataset027_ACDC"))
    assert len({case.group for case in dataset.cases}) == 100
    assert dataset.cases[0].group == dataset.cases[1].group == "patient001"
    assert "named as those of ACDC and are grouped by patients: 200 cases of 100 groups." in dataset.notes[-1]
    split = make_split(dataset, options)
    refuse_straddling(dataset, split)
    assert len(split.test) == (60 if options.test_share else 40)  # 80 / 20, or one of five folds


def test_acdc_by_patient_in_a_folder_of_pictures(tmp_path):
    dataset = open_dataset(write_pictures(tmp_path, [f"{name}_slice_3" for name in acdc_names(20)]))
    assert len({case.group for case in dataset.cases}) == 20
    refuse_straddling(dataset, make_split(dataset, SplitOptions()))


def test_identical_images_of_two_patients_are_named(tmp_path):
    dataset = open_dataset(write_acdc(tmp_path / "acdc", patients=80))
    found = [finding.message for finding in check_dataset(dataset).findings]
    assert len(found) == 2  # two frames each
    assert found[0].startswith("patient074_frame01 and patient076_frame01 are the same image in 2 groups.")
    together = tmp_path / "groups.csv"
    lines = [f"{name},{name[:10].replace('076', '074')}" for name in acdc_names(80)]
    together.write_text("\n".join(["case,group", *lines]))
    dataset = open_dataset(tmp_path / "acdc", groups=str(together))
    assert len({case.group for case in dataset.cases}) == 79
    assert not check_dataset(dataset).findings


def test_chase_by_child(tmp_path):
    dataset = open_dataset(write_chase(tmp_path / "CHASE"))
    assert len(dataset.cases) == 28
    assert all(case.target for case in dataset.cases)
    assert len({case.group for case in dataset.cases}) == 14
    for seed in range(5):
        refuse_straddling(dataset, make_split(dataset, SplitOptions(seed)))
    tested = [make_split(dataset, SplitOptions(folds=7, fold=fold)).test for fold in range(7)]
    assert [len(test) for test in tested] == [4] * 7
    assert len(set().union(*tested)) == 28


def test_busi_keeps_its_share_of_normal_images_on_every_side(tmp_path):
    dataset = open_dataset(write_busi(tmp_path / "BUSI"))
    assert not any(case.group for case in dataset.cases)  # 'benign (1)' and 'benign (2)' are two women
    assert not any("one subject" in note for note in dataset.notes)
    for seed in range(3):
        split = make_split(dataset, SplitOptions(seed))
        normal = [
            sum(name.startswith("normal") for name in side) for side in (split.train, split.validation, split.test)
        ]
        assert [len(side) for side in (split.train, split.validation, split.test)] == [624, 78, 78]
        assert normal == [107, 13, 13]  # 133 · 0.8, 0.1, 0.1
    folds = [make_split(dataset, SplitOptions(folds=5, fold=fold)) for fold in range(5)]
    assert {sum(name.startswith("normal") for name in fold.test) for fold in folds} == {26, 27}
    assert {len(fold.test) for fold in folds} == {156}


def test_cvc_clinicdb_tests_enough_sequences_and_all_of_them_over_folds(tmp_path):
    root = write_cvc_clinicdb(tmp_path, lengths=(FRAMES,), extension="png", size=(8, 8))
    dataset = open_dataset(root)
    split = make_split(dataset, SplitOptions())
    assert len(sides(dataset, split)[2]) == 10  # a tenth of the frames would be 4 sequences
    refuse_straddling(dataset, split)
    folds = [make_split(dataset, SplitOptions(folds=5, fold=fold)) for fold in range(5)]
    for fold in folds:
        refuse_straddling(dataset, fold)
    tested = [name for fold in folds for name in fold.test]
    assert len(tested) == len(set(tested)) == FRAMES
    assert len(set().union(*(sides(dataset, fold)[2] for fold in folds))) == 29
    assert max(len(fold.test) for fold in folds) - min(len(fold.test) for fold in folds) < 25


def test_names_that_look_like_repeats_get_a_note_with_the_pattern(tmp_path):
    root = write_pictures(tmp_path, [f"case_{case:02d}_slice_{one}" for case in range(6) for one in range(3)])
    (note,) = open_dataset(root).notes[-1:]
    assert "18 cases have 6 beginnings of names, such as 'case_00' in 3 cases" in note
    assert "`groups=case_\\d+`" in note
    grouped = open_dataset(root, groups=r"case_\d+")
    assert len({case.group for case in grouped.cases}) == 6
    assert "18 cases of 6 groups" in grouped.notes[-1]


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["OAS1_0001_MR1_55", "OAS1_0001_MR1_60", "OAS1_0002_MR1_55", "OAS1_0002_MR1_60"], r"OAS\d+_\d+"),
        (["IM-01L", "IM-01R", "IM-02L", "IM-02R"], "(.+)(L|R)$"),
        (["cju0qkwl35piu0993l0dewei2", "cju0qoxqj9q6s0835b43399p4"], ""),
        (["21_training", "22_training", "23_training"], ""),
        (["a", "b"], ""),
        ([], ""),
    ],
)
def test_patterns_of_subjects(names, pattern):
    assert repeated_subjects(names) == pattern
    if pattern:
        assert len(set(groups_by(pattern, names).values())) == 2


def test_what_groups_cannot_be_is_said(tmp_path):
    with pytest.raises(BadInput, match=r"`groups`: 'c\{99999999999\}' is no regular expression"):
        groups_by("c{99999999999}", ["c"])
    with pytest.raises(BadInput, match=r"`groups`: 'patient\(' is no regular expression"):
        groups_by("patient(", ["patient1"])
    with pytest.raises(BadInput, match=r"finds nothing in the name of b, c \(2 cases of 3\). Every case needs a group"):
        groups_by("a", ["a", "b", "c"])
    with pytest.raises(BadInput, match=r"`groups`: there is no file '.*nowhere.csv'. Wanted a CSV with"):
        groups_by(str(tmp_path / "nowhere.csv"), ["a"])
    (tmp_path / "groups.csv").write_text("case,group\na,1\n")
    with pytest.raises(BadInput, match=r"has no group for b\. Cases are named as the label maps"):
        groups_by(str(tmp_path / "groups.csv"), ["a", "b"])


def test_official_subsets_that_part_a_group_are_named(tmp_path):
    for subset, frame in (("train", 1), ("test", 9)):
        write_pictures(
            tmp_path / subset, [f"patient{number:03d}_frame{frame:02d}" for number in range(1, 5)], seed=frame
        )
    dataset = open_dataset(tmp_path)
    assert "own subsets part 4 groups, such as 'patient001' in test and train" in dataset.notes[-1]
    refuse_straddling(dataset, make_split(dataset, SplitOptions(folds=2)))
