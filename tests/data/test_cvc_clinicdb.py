from itertools import pairwise

import numpy as np
import pytest
from data.layouts.cvc_clinicdb import write_cvc_clinicdb

from sizewise.data.cvc_clinicdb import FRAMES, SEQUENCE_STARTS, load, recognise
from sizewise.data.open_options import OpenOptions
from sizewise.errors import BadInput

LENGTHS = (6, 5, 4, 6, 5, 4)
# The last frame of each sequence, as github.com/dataset-ninja/cvc-612 (ABSTRACT.md) gives the data set's own table.
LAST_FRAMES = (
    25, 50, 67, 78, 103, 126, 151, 177, 199, 205, 227, 252, 277, 297, 317, 342, 363, 383, 408, 428, 447, 466, 478, 503,
    528, 546, 571, 591, 612,
)  # fmt: skip
RELEASE_LENGTHS = [last - before for before, last in pairwise((0, *LAST_FRAMES))]


def groups_of(dataset):
    """The runs of equal groups, as lengths, in the order of frames."""
    groups = [case.group for case in dataset.cases]
    lengths = [groups.count(group) for group in dict.fromkeys(groups)]
    assert groups == [group for group, n in zip(dict.fromkeys(groups), lengths, strict=True) for _ in range(n)]
    return lengths


def test_the_table_covers_the_release():
    assert (1, *(last + 1 for last in LAST_FRAMES[:-1])) == SEQUENCE_STARTS
    assert len(SEQUENCE_STARTS) == 29
    assert LAST_FRAMES[-1] == FRAMES


@pytest.mark.parametrize("extension", ["tif", "png"])
def test_the_published_layout(tmp_path, extension):
    root = write_cvc_clinicdb(tmp_path, extension=extension)
    assert recognise(root)
    dataset = load(root, options=OpenOptions())
    assert dataset.classes == ("background", "polyp")
    assert [case.name for case in dataset.cases] == [str(n) for n in range(1, 31)]  # 2 before 10
    assert dataset.fractions == (0.8, 0.1, 0.1)
    target = dataset.reader.target(dataset.cases[0])
    assert target.shape == (36, 48)
    assert set(np.unique(target)) == {0, 1}


def test_the_whole_release_is_grouped_by_the_cited_table(tmp_path):
    # one scene for all frames: likeness would make one group of them
    dataset = load(write_cvc_clinicdb(tmp_path, lengths=(FRAMES,), extension="png", size=(8, 8)), options=OpenOptions())
    assert groups_of(dataset) == RELEASE_LENGTHS
    assert dataset.cases[199].group == dataset.cases[204].group != dataset.cases[205].group  # frames 200, 205, 206
    assert "29 sequences of the data set's page" in dataset.notes[0]


def test_a_part_of_the_release_is_grouped_by_the_table_too(tmp_path):
    names = [str(n) for n in (*range(190, 206), *range(300, 310))]  # sequences 9, 10, 15
    dataset = load(write_cvc_clinicdb(tmp_path, lengths=(10, 6, 10), names=names), options=OpenOptions())
    assert groups_of(dataset) == [10, 6, 10]
    assert "Only 26 of the 612 frames" in dataset.notes[0]


def test_own_numbers_never_part_frames_that_look_alike(tmp_path):
    names = [str(n) for n in range(10, 40)]  # the table parts them between 25 and 26, where nothing changes
    dataset = load(write_cvc_clinicdb(tmp_path, lengths=(30,), names=names), options=OpenOptions())
    assert groups_of(dataset) == [30]


def test_renamed_frames_are_grouped_by_likeness_and_it_says_so(tmp_path):
    names = [f"frame{n:03d}" for n in range(30)]
    dataset = load(write_cvc_clinicdb(tmp_path, lengths=LENGTHS, names=names), options=OpenOptions())
    assert groups_of(dataset) == list(LENGTHS)
    assert "by how alike they look (6 groups)" in dataset.notes[0]


def test_frames_counted_anew_are_grouped_by_likeness(tmp_path):
    dataset = load(write_cvc_clinicdb(tmp_path, lengths=LENGTHS), options=OpenOptions())
    assert groups_of(dataset) == list(LENGTHS)
    assert "alike" in dataset.notes[0]


def test_the_metadata_of_the_kaggle_copy(tmp_path):
    root = write_cvc_clinicdb(tmp_path, lengths=LENGTHS, extension="png", kaggle=True)
    assert recognise(root)
    dataset = load(root, options=OpenOptions())
    assert groups_of(dataset) == list(LENGTHS)
    assert dataset.notes[0] == "Frames are grouped into sequences by metadata.csv."
    rows = (root / "metadata.csv").read_text().splitlines()
    (root / "metadata.csv").write_text("\n".join(rows[:-2]))
    with pytest.raises(BadInput, match="does not name 2 frames, such as '29'"):
        load(root, options=OpenOptions())
    (root / "metadata.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match="must have the columns frame_id and sequence_id, got a,b"):
        load(root, options=OpenOptions())


def test_png_is_preferred_to_tif(tmp_path):
    write_cvc_clinicdb(tmp_path, extension="png", kaggle=True)
    write_cvc_clinicdb(tmp_path, extension="tif", kaggle=True)
    assert load(tmp_path, options=OpenOptions()).cases[0].images[0].suffix == ".png"


def test_another_layout_is_refused(tmp_path):
    assert not recognise(tmp_path)
    with pytest.raises(BadInput, match="wanted the folders Original and 'Ground Truth'"):
        load(tmp_path, options=OpenOptions())
