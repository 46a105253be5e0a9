"""Studies of the user's as evidence."""

import re
import shutil

import pytest
from report.synthetic_study import make_study

from sizewise.advice.evidence_table import Kind
from sizewise.advice.own_studies import read_studies
from sizewise.errors import BadInput


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "study"
    return make_study(folder, data=("spots", "streets"), weights=("0.1", "1"), overlays=0, decisions=("argmax", "dice"))


def test_a_study_is_one_set_for_each_data_set(study):
    spots, streets = read_studies([study])
    assert (spots.name, streets.name, spots.model, spots.own) == ("spots", "streets", "net", True)
    assert (spots.features.classes, spots.features.spatial_dims, spots.cases) == (2, 2, 24)
    assert spots.features.components is None  # scores do not know of pieces
    assert 0 < spots.features.absent < 0.2
    kinds = spots.chosen()
    assert {Kind("RCE"), Kind("RCE", "dice"), Kind("CE"), Kind("DiceCE")} <= set(kinds)
    assert kinds[Kind("RCE")].seeds == 3
    assert kinds[Kind("RCE")].validation > 0.5
    assert {arm.weight for arm in spots.arms if arm.loss == "RCE"} == {"0.1", "1"}


def test_a_folder_of_studies(study):
    assert len(read_studies([study.parent])) == 2


def test_a_study_that_is_named_twice_counts_once(study):
    assert len(read_studies([study.parent, study, study / ".." / study.name])) == 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: None, "there is no folder"),
        (lambda folder: folder.mkdir(), "has no study: neither it nor a folder in it holds a study.json"),
        (
            lambda folder: make_study(folder, runs=False).joinpath("results.csv").unlink(),
            "none of its runs is finished",
        ),
    ],
)
def test_a_folder_without_a_study_is_a_sentence(make, said, tmp_path):
    make(tmp_path / "there")
    with pytest.raises(BadInput, match=said):
        read_studies([tmp_path / "there"])


def test_a_study_that_tested_no_region_is_like_no_data(study, tmp_path):
    shutil.copytree(study, tmp_path / "empty")
    table = tmp_path / "empty" / "results.csv"
    table.write_text(re.sub("true_proportion,.*", "true_proportion,0.0", table.read_text()))
    assert read_studies([tmp_path / "empty"]) == ()


def test_results_without_sizes_are_a_sentence(study, tmp_path):
    shutil.copytree(study, tmp_path / "old")
    table = tmp_path / "old" / "results.csv"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(line for line in lines if "true_proportion" not in line))
    with pytest.raises(BadInput, match="have no true_proportion"):
        read_studies([tmp_path / "old"])
