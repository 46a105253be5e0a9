"""Folders of images without targets."""

import nibabel
import numpy as np
import pytest
from data.layouts.tiny_volumes import AFFINE, save, scan
from PIL import Image
from train.tiny_runs import memory_dataset

from sizewise.errors import BadInput
from sizewise.train.plain_images import plain_images

FLAT = memory_dataset({"a": np.zeros((3, 4, 4), np.uint8)}, {}, classes=("background", "x", "y"))
DEEP = memory_dataset(
    {"a": np.zeros((2, 4, 4, 4), np.float32)}, {}, classes=("background", "x"), modality=("MRI", "MRI")
)


def test_pictures_in_the_channels_of_the_run(tmp_path):
    Image.fromarray(np.zeros((5, 7), np.uint8)).save(tmp_path / "grey.png")
    Image.fromarray(np.zeros((6, 4, 3), np.uint8)).save(tmp_path / "b.tif")
    (tmp_path / ".hidden.png").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("")
    found = plain_images(tmp_path, FLAT, channels=3, axes="stored")
    assert [case.name for case in found.cases] == ["b", "grey"]
    assert found.reader.image(found.cases[1]).pixels.shape == (3, 5, 7)
    (tmp_path / "out").mkdir()
    written = found.reader.write(np.full((5, 7), 2, np.uint8), found.cases[1], tmp_path / "out")
    with Image.open(written) as labels:
        assert np.asarray(labels).tolist() == [[2] * 7] * 5


def test_modalities_are_grouped_and_geometry_kept(tmp_path):
    for case in ("p1", "p2"):
        for channel in range(2):
            save(tmp_path / f"{case}_{channel:04d}.nii.gz", scan(channel))
    found = plain_images(tmp_path, DEEP, channels=2, axes="stored")
    assert [case.name for case in found.cases] == ["p1", "p2"]
    image = found.reader.image(found.cases[0])
    assert image.pixels.shape == (2, 8, 7, 5)
    (tmp_path / "out").mkdir()
    written = found.reader.write(np.ones((8, 7, 5), np.uint8), found.cases[0], tmp_path / "out")
    np.testing.assert_allclose(nibabel.load(written).affine, AFFINE)
    (tmp_path / "p2_0001.nii.gz").unlink()
    with pytest.raises(BadInput, match="case p2 has 1 files, but the run was trained on 2 modalities"):
        plain_images(tmp_path, DEEP, channels=2, axes="stored")


def test_nothing_to_read_and_names_that_clash(tmp_path):
    with pytest.raises(
        BadInput, match=r"has no images that this run, trained on 3D data, can read\. Wanted NIfTI volumes"
    ):
        plain_images(tmp_path, DEEP, channels=2, axes="stored")
    for ending in ("png", "bmp"):
        Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / f"a.{ending}")
    with pytest.raises(BadInput, match=r"a\.bmp' is a 2D picture, but this run was trained on 3D data"):
        plain_images(tmp_path, DEEP, channels=2, axes="stored")
    with pytest.raises(BadInput, match="has several images called a: their label maps would overwrite"):
        plain_images(tmp_path, FLAT, channels=3, axes="stored")
