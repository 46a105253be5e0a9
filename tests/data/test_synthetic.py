"""The built-in data sets: pure, seeded, of the promised sizes, quick."""

import pickle

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from sizewise.data.check import check_dataset
from sizewise.data.recognise import open_dataset
from sizewise.data.size_table import class_sizes
from sizewise.data.split import split_cases
from sizewise.data.synthetic_scene import LESION, ORGAN, Scene, draw_image, draw_labels, smooth_field


@pytest.fixture(scope="module")
def flat():
    return open_dataset("synthetic")


def test_what_it_is(flat):
    assert flat.classes == ("background", "organ", "cyst", "lesion")
    split = split_cases(flat, seed=7)
    assert (len(split.train), len(split.validation), len(split.test)) == (160, 40, 60)
    image = flat.reader.image(flat.cases[0])
    assert image.pixels.shape == (1, 64, 64)
    assert image.pixels.dtype == np.float32
    assert image.spacing == (1.0, 1.0)


def test_a_case_is_a_function_of_seed_and_number(flat):
    copy = pickle.loads(pickle.dumps(flat.reader))
    other = open_dataset("synthetic", seed=1)
    for case in flat.cases[:3]:
        assert np.array_equal(copy.image(case).pixels, flat.reader.image(case).pixels)
        assert np.array_equal(copy.target(case), flat.reader.target(case))
        assert not np.array_equal(other.reader.target(case), flat.reader.target(case))
    assert not np.array_equal(flat.reader.target(flat.cases[0]), flat.reader.target(flat.cases[1]))


def test_writing_into_a_target_leaves_the_next_one_alone(flat):
    first = flat.reader.target(flat.cases[0])
    expected = first.copy()
    first[:] = 9
    assert np.array_equal(flat.reader.target(flat.cases[0]), expected)


def test_proportions_are_the_promised_ones(flat):
    result = check_dataset(flat)
    assert result.findings == ()
    _, organ, cyst, lesion = class_sizes(flat, result.sizes)
    assert 0.15 < organ.mean < 0.3
    assert 0.03 < cyst.mean < 0.05
    assert 0.008 < lesion.mean < 0.013
    assert 0.8 < lesion.present < 0.97
    assert lesion.smallest >= 0.006 * 0.98  # exact but for the rounding to a pixel (0.006 · 4096 = 24.6)
    assert lesion.largest <= 0.022 * 1.02


def test_exact_sizes_where_nothing_overlaps():
    scene = Scene((40, 50), (1.0, 1.0), organ=(0.3, 0.3), cyst=(0.001, 0.001), lesion=(0.01, 0.01), lesion_free=0.0)
    for index in range(20):
        sizes = np.bincount(draw_labels(scene, 3, index).ravel(), minlength=4)
        assert sizes[LESION] == 20  # 0.01 · 2000
        assert 2000 * 0.3 - 20 - 2 <= sizes[ORGAN] <= 2000 * 0.3 - 20


def test_lesions_lie_in_the_organ_and_are_brighter_on_average():
    scene = Scene((64, 64), (1.0, 1.0), lesion_free=0.0)
    contrasts = []
    for index in range(30):
        labels = draw_labels(scene, 0, index)
        image = draw_image(scene, labels, 0, index)
        contrasts.append(image[labels == LESION].mean() - image[labels == ORGAN].mean())
    assert 0.3 < np.mean(contrasts) < 1.4


def test_volumes_have_thick_slices_and_round_regions():
    dataset = open_dataset("synthetic-3d")
    case = dataset.cases[0]
    image = dataset.reader.image(case)
    assert dataset.spatial_dims == 3
    assert image.pixels.shape == (1, 24, 48, 48)
    assert image.spacing == (2.5, 1.0, 1.0)
    extents = []
    for case in dataset.cases[:20]:
        spots = np.argwhere(dataset.reader.target(case) == ORGAN)
        extents.append(np.ptp(spots, axis=0) * np.array(image.spacing))
    mean = np.mean(extents, axis=0)  # millimetres: alike along every axis, though the voxels are not
    assert mean.max() / mean.min() < 1.4


def test_merge_and_written_label_maps(flat, tmp_path):
    merged = open_dataset("synthetic", merge=True)
    assert merged.classes == ("background", "foreground")
    labels = flat.reader.target(flat.cases[0])
    assert np.array_equal(merged.reader.target(merged.cases[0]), (labels > 0).astype(np.uint8))
    path = flat.reader.write(labels, flat.cases[0], tmp_path / "out")
    assert path.name == "case_0000.png"
    assert np.array_equal(np.asarray(Image.open(path)), labels)
    deep = open_dataset("synthetic-3d")
    volume = deep.reader.target(deep.cases[0])
    written = nib.load(deep.reader.write(volume, deep.cases[0], tmp_path / "out"))
    assert written.header.get_zooms() == (2.5, 1.0, 1.0)
    assert np.array_equal(np.asanyarray(written.dataobj), volume)
    with pytest.raises(ValueError, match="needs labels of shape"):
        flat.reader.write(labels[1:], flat.cases[0], tmp_path)


def test_smooth_fields_have_the_promised_spread_and_no_jumps():
    fields = np.stack([smooth_field((48, 48), np.random.default_rng(i), cells=5) for i in range(40)])
    assert abs(fields.mean()) < 0.1
    assert 0.85 < fields.std() < 1.15
    assert np.abs(np.diff(fields, axis=1)).max() < 1.2
