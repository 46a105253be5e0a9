"""Every kind of damage is found, with the file's name; what is only odd is a warning."""

import threading

import nibabel as nib
import numpy as np
import pytest
from data.layouts.decathlon_layout import write_pancreas
from data.layouts.nnunet_layout import write_roads
from data.layouts.tiny_volumes import AFFINE, labels, save, scan
from PIL import Image as Picture

from sizewise.data.check import CaseSizes, check_dataset, common_ending
from sizewise.data.dataset import Case, Dataset, Image, Reader
from sizewise.data.recognise import open_dataset


@pytest.fixture
def root(tmp_path):
    return write_pancreas(tmp_path, cases=4)


def messages(root, level="error"):
    return [finding.message for finding in check_dataset(open_dataset(root)).findings if finding.level == level]


def test_a_sound_data_set_has_no_findings_and_all_sizes(root):
    result = check_dataset(open_dataset(root))
    assert result.findings == ()
    assert [size.case for size in result.sizes] == [f"pancreas_{n:03d}" for n in range(1, 5)]  # not the test case
    assert result.sizes[0] == CaseSizes("pancreas_001", (277, 1, 2), 280)  # 8 · 7 · 5 voxels


def test_each_damage_is_named_and_the_others_are_still_checked(root):
    cut = root / "imagesTr" / "pancreas_001.nii.gz"
    cut.write_bytes(cut.read_bytes()[:200])
    (root / "labelsTr" / "pancreas_002.nii.gz").unlink()
    save(root / "labelsTr" / "pancreas_003.nii.gz", labels(classes=5))
    save(root / "labelsTr" / "pancreas_004.nii.gz", labels(classes=3, shape=(8, 7, 4)))
    result = check_dataset(open_dataset(root))
    by_case = {finding.case: finding for finding in result.errors}
    assert len(result.errors) == 4
    assert by_case["pancreas_001"].file == cut
    assert "imagesTr/pancreas_001.nii.gz' is truncated or damaged" in by_case["pancreas_001"].message
    assert "labelsTr/pancreas_002.nii.gz' does not exist" in by_case["pancreas_002"].message
    assert "labelsTr/pancreas_003.nii.gz' has the label values 3, 4" in by_case["pancreas_003"].message
    assert "labelsTr/pancreas_004.nii.gz' has size (8, 7, 4)" in by_case["pancreas_004"].message
    assert result.sizes == ()


def test_an_empty_mask_is_a_warning_and_is_counted(root):
    save(root / "labelsTr" / "pancreas_002.nii.gz", np.zeros((8, 7, 5), np.uint8))
    result = check_dataset(open_dataset(root))
    assert result.errors == ()
    assert [finding.case for finding in result.findings] == ["pancreas_002"]
    assert "labelsTr/pancreas_002.nii.gz' is empty" in result.findings[0].message
    assert result.sizes[1].counts == (280, 0, 0)


def test_a_mask_without_an_image_and_an_unused_image_are_warnings(root):
    save(root / "labelsTr" / "pancreas_050.nii.gz", labels(classes=3))
    save(root / "imagesTr" / "pancreas_060.nii.gz", scan(60))
    assert messages(root) == []  # training goes on without them
    assert messages(root, "warning") == [
        "1 mask has no image, and is left out: pancreas_050.nii.gz.",
        f"'{root}/imagesTr' has 1 image that no case uses: pancreas_060.nii.gz.",
    ]


def test_an_unlisted_pair_is_no_error(root):
    save(root / "labelsTr" / "pancreas_050.nii.gz", labels(classes=3))
    save(root / "imagesTr" / "pancreas_050.nii.gz", scan(50))
    assert messages(root) == []
    assert len(messages(root, "warning")) == 1


def test_pixels_that_are_no_numbers(root):
    array = scan(1).astype(np.float32)
    array[0, 0, 0] = np.nan
    save(root / "imagesTr" / "pancreas_001.nii.gz", array)
    assert messages(root) == [
        f"'{root}/imagesTr/pancreas_001.nii.gz' has pixels that are not finite numbers (NaN or infinity)."
    ]


def test_a_moved_label_map(root):
    affine = AFFINE.copy()
    affine[0, 3] += 3
    save(root / "labelsTr" / "pancreas_001.nii.gz", labels(classes=3), affine)
    assert "lies up to 3 mm away" in messages(root)[0]


def test_pictures_of_different_size_and_a_truncated_one(tmp_path):
    root = write_roads(tmp_path)
    Picture.fromarray(np.zeros((5, 5), np.uint8)).save(root / "labelsTr" / "Tr-0.png")
    cut = root / "imagesTr" / "Tr-1_0000.png"
    cut.write_bytes(cut.read_bytes()[:100])
    errors = messages(root)
    assert len(errors) == 2
    assert any("labelsTr/Tr-0.png' has size (5, 5), its image" in error and "(12, 10)" in error for error in errors)
    assert any("Tr-1_0000.png" in error for error in errors)


class Drawn(Reader):
    """A reader of arrays: what other layouts may hand over."""

    def __init__(self, target):
        self.labels = target

    def image(self, case):
        return Image(np.zeros((1, 2, 2), np.uint8), (1.0, 1.0))

    def target(self, case):
        return self.labels

    def write(self, labels, case, folder):
        raise NotImplementedError


def drawn(target, *, cases=1, **options):
    return Dataset(
        "drawn",
        ("background", "a"),
        tuple(Case(f"c{i}", (), (None,)) for i in range(cases)),
        Drawn(target),
        2,
        **options,
    )


def test_class_ids_without_a_class_and_ignored_ones():
    target = np.array([[0, 1], [7, 255]], np.uint8)
    assert check_dataset(drawn(target)).errors[0].message == "case c0 has the class ids 7, 255, wanted 0 to 1."
    assert check_dataset(drawn(target, ignore_index=255)).errors[0].message.startswith("case c0 has the class ids 7,")
    ignoring = check_dataset(drawn(np.array([[0, 1], [1, 255]], np.uint8), ignore_index=255))
    assert ignoring.findings == ()
    assert ignoring.sizes[0] == CaseSizes("c0", (1, 2), 3)


def test_multi_label_counts_each_channel():
    target = np.array([[[1, 1], [0, 0]], [[1, 0], [0, 0]]], np.uint8)
    assert check_dataset(drawn(target, activation="sigmoid")).sizes[0] == CaseSizes("c0", (2, 1), 4)


def test_an_image_without_a_mask_is_told_of_but_in_the_test_set():
    reader = Drawn(None)
    cases = (Case("a", (), ()), Case("b", (), (), subset="test"))
    findings = check_dataset(Dataset("d", ("background", "a"), cases, reader, 2)).findings
    assert [(finding.level, finding.message) for finding in findings] == [
        ("warning", "1 image has no mask, and is left out: a.")
    ]


def test_several_threads_work_and_the_order_is_kept():
    seen = set()
    barrier = threading.Barrier(3, timeout=600)  # passes only when three cases are read at once

    class Slow(Drawn):
        def target(self, case):
            seen.add(threading.get_ident())
            barrier.wait()
            return self.labels

    dataset = drawn(np.ones((2, 2), np.uint8), cases=6)
    dataset = Dataset(dataset.name, dataset.classes, dataset.cases, Slow(np.ones((2, 2), np.uint8)), 2)
    result = check_dataset(dataset, workers=3)
    assert len(seen) == 3
    assert [size.case for size in result.sizes] == [f"c{i}" for i in range(6)]


def test_common_endings():
    assert common_ending(["IDRiD_01_MA.tif", "IDRiD_02_MA.tif"]) == "_MA.tif"
    assert common_ending(["cat.png", "bat.png"]) == ".png"
    assert common_ending(["x_0000.nii.gz"]) == ".nii.gz"
    assert common_ending(["a", "b"]) == ""


def test_a_rescaled_copy_is_read_through_its_header(root):
    path = root / "labelsTr" / "pancreas_001.nii.gz"
    image = nib.Nifti1Image(labels(classes=3).astype(np.float32) * 0.1, AFFINE)
    image.header.set_data_dtype(np.uint8)  # nibabel stores integers and a scale of about 0.1 / 100
    nib.save(image, path)
    assert "not whole numbers" in messages(root)[0]
