import pickle

import numpy as np
import pytest
from PIL import Image

from sizewise.data.dataset import Case
from sizewise.data.label_rule import LabelRule
from sizewise.data.picture_reader import PictureReader, RegionReader
from sizewise.errors import BadInput


def save(path, array):
    Image.fromarray(np.array(array, dtype=np.uint8)).save(path)
    return path


@pytest.fixture
def overlapping(tmp_path):
    image = save(tmp_path / "a.png", np.zeros((2, 3, 3)))
    first = save(tmp_path / "first.png", [[255, 255, 0], [0, 0, 0]])
    third = save(tmp_path / "third.png", [[0, 76, 76], [0, 0, 0]])
    return Case("a", (image,), (first, None, third))


def test_regions_may_overlap_and_a_missing_mask_is_empty(overlapping):
    target = RegionReader(("x", "y", "z")).target(overlapping)
    assert target.dtype == np.uint8
    assert target.tolist() == [[[1, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]], [[0, 1, 1], [0, 0, 0]]]


def test_merged_regions_are_their_union(overlapping):
    assert RegionReader(("x", "y", "z"), merge=True).target(overlapping).tolist() == [[1, 1, 1], [0, 0, 0]]


def test_a_case_without_any_lesion_has_the_size_of_its_image(overlapping):
    healthy = Case("a", overlapping.images, (None, None, None))
    assert not RegionReader(("x", "y", "z")).target(healthy).any()
    assert RegionReader(("x", "y", "z"), merge=True).target(healthy).shape == (2, 3)
    with pytest.raises(BadInput, match="has no masks"):
        RegionReader(("x", "y", "z")).target(Case("a", overlapping.images))


def test_a_mask_of_another_size_is_named(overlapping, tmp_path):
    wide = save(tmp_path / "wide.png", np.zeros((2, 4)))
    with pytest.raises(BadInput, match=r"wide\.png' has 2×4 pixels .* has 2×3"):
        RegionReader(("x", "y", "z")).target(Case("a", overlapping.images, (wide, None, None)))


def test_region_label_maps_are_written_in_a_folder_per_class(overlapping, tmp_path):
    reader = pickle.loads(pickle.dumps(RegionReader(("hard exudates", "y", "z"))))
    target = reader.target(overlapping)
    path = reader.write(target, overlapping, tmp_path / "out")
    assert path == tmp_path / "out" / "hard exudates" / "a.png"
    for channel, name in enumerate(reader.classes):
        np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out" / name / "a.png")), target[channel])
    with pytest.raises(ValueError, match="wanted 3 channels"):
        reader.write(target[:2], overlapping, tmp_path / "out")
    merged = RegionReader(("x", "y", "z"), merge=True)
    path = merged.write(merged.target(overlapping), overlapping, tmp_path / "merged")
    assert np.asarray(Image.open(path)).tolist() == [[1, 1, 1], [0, 0, 0]]


def test_label_maps_fit_an_image_that_is_turned(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(np.zeros((2, 5, 3), dtype=np.uint8)).save(tmp_path / "turned.jpg", exif=exif)
    case = Case("turned", (tmp_path / "turned.jpg",))
    reader = PictureReader(LabelRule("ids", 2))
    assert reader.image(case).pixels.shape == (3, 5, 2)
    assert np.asarray(Image.open(reader.write(np.ones((5, 2), np.uint8), case, tmp_path))).shape == (5, 2)


def test_colour_where_the_set_is_grey_is_named(tmp_path):
    image = save(tmp_path / "colour.png", np.zeros((2, 2, 3)))
    with pytest.raises(BadInput, match=r"colour\.png' is in colour"):
        PictureReader(LabelRule("ids", 2), channels=1).image(Case("a", (image,)))


@pytest.mark.parametrize(
    ("values", "expected"), [([[0, 255]], [[0, 1]]), ([[100, 200]], [[0, 1]]), ([[0, 0]], [[0, 0]])]
)
def test_the_threshold_rule(tmp_path, values, expected):
    assert LabelRule("threshold", 2).read(save(tmp_path / "m.png", values)).tolist() == expected


def test_the_threshold_rule_does_not_lose_masks_of_ones(tmp_path):
    with pytest.raises(BadInput, match=r"m\.png' should be black and white .* brightest value is 1"):
        LabelRule("threshold", 2).read(save(tmp_path / "m.png", [[0, 1]]))
