import shutil

import numpy as np
import pytest
from data.layouts.idrid import FOLDERS, write_idrid
from PIL import Image

from sizewise.data.idrid import load, recognise
from sizewise.data.open_options import OpenOptions
from sizewise.errors import BadInput

TRUTH = "2. All Segmentation Groundtruths"


def region(path):
    return np.asarray(Image.open(path).convert("RGB")).any(-1)


@pytest.mark.parametrize("start", ["", "A. Segmentation"])
def test_the_published_layout_is_multi_label(tmp_path, start):
    root = write_idrid(tmp_path) / start
    assert recognise(root)
    dataset = load(root, options=OpenOptions())
    assert dataset.activation == "sigmoid"
    assert dataset.classes == ("microaneurysms", "haemorrhages", "hard exudates", "soft exudates", "optic disc")
    assert [case.subset for case in dataset.cases] == ["train"] * 4 + ["test"] * 2
    case = dataset.cases[0]
    assert [None if path is None else path.stem for path in case.target] == [
        "IDRiD_01_MA", "IDRiD_01_HE", "IDRiD_01_EX", None, "IDRiD_01_OD",
    ]  # fmt: skip
    target = dataset.reader.target(case)
    assert target.shape == (5, 48, 72)
    assert not target[3].any()  # a missing file: no such lesion
    for channel in (0, 1, 2, 4):
        np.testing.assert_array_equal(target[channel], region(case.target[channel]))
        assert target[channel].any()


def test_merged_lesions_leave_the_disc_out(tmp_path):
    dataset = load(write_idrid(tmp_path), options=OpenOptions(merge=True))
    assert dataset.classes == ("background", "lesion")
    assert dataset.activation == "softmax"
    case = dataset.cases[1]
    expected = np.logical_or.reduce([region(path) for path in case.target])
    assert len(case.target) == 4
    np.testing.assert_array_equal(dataset.reader.target(case), expected)


def test_the_rearranged_layout_reads_the_same(tmp_path):
    root = write_idrid(tmp_path / "official") / "A. Segmentation"
    other = tmp_path / "rearranged"
    for name, subset in (("a. Training Set", "train"), ("b. Testing Set", "test")):
        shutil.copytree(root / "1. Original Images" / name, other / subset / "images")
        for code, folder in FOLDERS.items():
            source = root / TRUTH / name / folder
            (other / subset / f"masks_{code}").mkdir(parents=True)
            for mask in source.iterdir() if source.is_dir() else ():
                Image.fromarray(region(mask)).save(other / subset / f"masks_{code}" / f"{mask.stem}.png")  # 1 bit
    assert recognise(other)
    official, rearranged = load(root, options=OpenOptions()), load(other, options=OpenOptions())
    assert [case.name for case in official.cases] == [case.name for case in rearranged.cases]
    for first, second in zip(official.cases, rearranged.cases, strict=True):
        assert first.subset == second.subset
        np.testing.assert_array_equal(official.reader.target(first), rearranged.reader.target(second))


def test_masks_without_an_image_and_empty_sets_are_named(tmp_path):
    root = write_idrid(tmp_path / "set") / "A. Segmentation"
    (root / "1. Original Images" / "a. Training Set" / "IDRiD_02.jpg").unlink()
    with pytest.raises(BadInput, match=r"IDRiD_02_MA\.tif' has no image 'IDRiD_02'"):
        load(root, options=OpenOptions())
    shutil.rmtree(root / TRUTH)
    with pytest.raises(BadInput, match=r"no image in .* has a mask"):
        load(root, options=OpenOptions())
    with pytest.raises(BadInput, match="Original Images"):
        load(tmp_path, options=OpenOptions())
