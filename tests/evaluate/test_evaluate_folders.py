"""Folders of label maps: every file kind, mask values, matching, classes that only some cases have, workers."""

import nibabel
import numpy as np
import pytest
from PIL import Image

from sizewise.errors import BadInput
from sizewise.evaluate.folders import evaluate_folders
from sizewise.evaluate.matching import match_folders
from sizewise.metrics.surface import nsd, surface_distances
from sizewise.parallel import map_in_processes


def square(classes=(1,), shape=(24, 20), shift=0):
    labels = np.zeros(shape, np.uint8)
    for place, label in enumerate(classes):
        labels[3 + shift : 9 + shift, 2 + 5 * place : 6 + 5 * place] = label
    return labels


def save(folder, name, labels, **options):
    folder.mkdir(exist_ok=True)
    if name.endswith((".nii", ".nii.gz")):
        image = nibabel.Nifti1Image(labels, options.get("affine", np.diag([2.0, 1.0, 3.0, 1.0])))
        nibabel.save(image, folder / name)
    else:
        Image.fromarray(labels).save(folder / name)


def values(evaluation, metric="dsc"):
    return {(row.case, row.class_id): row.value for row in evaluation.rows if row.metric == metric}


@pytest.fixture
def folders(tmp_path):
    return tmp_path / "pred", tmp_path / "target"


def run(folders, **options):
    return evaluate_folders(*folders, **{"jobs": 1, **options})


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tif", "a.TIFF", "a.nii", "a.nii.gz"])
def test_every_file_kind(folders, name):
    """One row of 6 x 4 pixels off: 20 of 24 pixels are shared."""
    volume = ".nii" in name
    for folder, shift in zip(folders, (1, 0), strict=True):
        labels = square((1, 2), shift=shift)
        save(folder, name, np.repeat(labels[..., None], 5, axis=2) if volume else labels)
    evaluation = run(folders)
    assert values(evaluation) == {("a", 1): 20 / 24, ("a", 2): 20 / 24}
    assert values(evaluation, "hd95")["a", 1] == (2.0 if volume else 1.0)  # NIfTI rows lie 2 mm apart


def test_spacing_of_pictures(folders):
    for folder, shift in zip(folders, (1, 0), strict=True):
        save(folder, "a.png", square(shift=shift))
    evaluation = run(folders, spacing=(0.5, 3.0), nsd_tolerance=0.4)
    assert values(evaluation, "hd95") == {("a", 1): 0.5}
    assert values(evaluation, "nsd")["a", 1] < 1
    assert values(run(folders, spacing=(0.5, 3.0), nsd_tolerance=0.5), "nsd") == {("a", 1): 1}


def test_a_slice_stored_as_a_volume_is_scored_in_2d(folders):
    for folder, shift in zip(folders, (1, 0), strict=True):
        save(folder, "a.nii.gz", square(shift=shift)[..., None])
        save(folder, "b.nii.gz", square(shift=shift)[..., None, None])
    found = values(run(folders, nsd_tolerance=1.0), "nsd")
    flat = surface_distances(square(shift=1) > 0, square() > 0, spacing=(2.0, 1.0))
    assert found == {("a", 1): nsd(flat, tolerance_mm=1.0), ("b", 1): nsd(flat, tolerance_mm=1.0)}
    assert found["a", 1] < 1


def test_a_volume_against_a_slice_is_named_as_such(folders):
    save(folders[0], "a.nii.gz", np.repeat(square()[..., None], 3, axis=2))
    save(folders[1], "a.nii.gz", square())
    with pytest.raises(BadInput, match=r"a\.nii\.gz' is 3D .* x 3\), but its target .* is 2D .*: one is a volume"):
        run(folders)


def test_black_and_white_is_binary_on_either_side(folders):
    save(folders[0], "a.png", square())
    save(folders[1], "a.png", square() * 255)
    save(folders[0], "empty.png", square(()))
    save(folders[1], "empty.png", square(()))
    evaluation = run(folders)
    assert values(evaluation) == {("a", 1): 1.0, ("empty", 1): None}


def test_jpeg_is_cut_at_127(folders):
    save(folders[0], "a.jpg", square(shape=(64, 64)) * 255)
    save(folders[1], "a.png", square(shape=(64, 64)) * 255)
    assert values(run(folders)) == {("a", 1): 1.0}


def test_a_class_of_other_cases_is_a_true_negative(folders):
    for folder in folders:
        save(folder, "a.png", square((1, 2)))
        save(folder, "b.png", square((1, 0)))
    evaluation = run(folders)
    assert values(evaluation) == {("a", 1): 1, ("a", 2): 1, ("b", 1): 1, ("b", 2): None}
    assert values(evaluation, "size_error")["b", 2] == 0
    assert evaluation.absent == ()


def test_named_classes_and_ignored_pixels(folders):
    """Ids that are not named are background; ignored pixels leave the count of valid ones."""
    target = square((1, 2, 3))
    target[20:] = 255  # 4 rows of 20
    save(folders[0], "a.png", square((1, 2, 3)))
    save(folders[1], "a.png", target)
    evaluation = run(folders, classes=[3, 7], ignore_index=255)
    assert values(evaluation) == {("a", 3): 1.0, ("a", 7): None}
    save(folders[0], "a.png", square((1, 2, 0)))
    evaluation = run(folders, ignore_index=255)
    assert values(evaluation, "size_error")["a", 3] == -24 / (24 * 20 - 80)


def test_a_case_that_is_all_ignored_is_named_and_not_scored(folders):
    for folder in folders:
        save(folder, "a.png", square())
    save(folders[0], "void.png", square())
    save(folders[1], "void.png", np.full((24, 20), 9, np.uint8))
    evaluation = run(folders, ignore_index=9)
    assert evaluation.unscored == ("void",)
    assert {row.case for row in evaluation.rows} == {"a", "all"}


def test_a_gap_in_the_ids_is_named(folders):
    for folder in folders:
        save(folder, "a.png", square((1, 3)))
    assert run(folders).absent == (2,)


def test_files_match_by_stem_and_other_files_are_passed_over(folders):
    for name in ("b.png", "a.nii.gz", "extra.png"):
        save(folders[0], name, square()[..., None] if "nii" in name else square())
    for name in ("b.tif", "a.nii"):
        save(folders[1], name, square()[..., None] if "nii" in name else square())
    for name in ("dataset.json", "plans.json", "a.npz", "._b.tif", "notes.txt"):
        (folders[0] / name).write_text("{}")
        (folders[1] / name).write_text("{}")
    pairs, unmatched, left_out = match_folders(*folders)
    assert left_out == []
    assert [(pair.name, pair.predicted.name, pair.target.name) for pair in pairs] == [
        ("a", "a.nii.gz", "a.nii"),
        ("b", "b.png", "b.tif"),
    ]
    assert unmatched == ["extra"]
    assert run(folders).unmatched == ("extra",)


def test_workers_give_the_same_rows(folders):
    for folder, shift in zip(folders, (1, 0), strict=True):
        for case in range(5):
            save(folder, f"{case}.png", square((1, 2), shift=shift + case))
    assert run(folders, jobs=2).rows == run(folders).rows


def _kill_self(task):
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_a_sentence():
    with pytest.raises(BadInput, match="lack of memory"):
        list(map_in_processes(_kill_self, [1, 2], jobs=2))


@pytest.mark.parametrize("cases", ["all", "predicted"])
def test_folders_that_have_no_case_in_common(folders, cases):
    save(folders[0], "a.png", square())
    save(folders[1], "b.png", square())
    with pytest.raises(
        BadInput, match=r"No prediction belongs to a target: '.*' has 'a'; '.*' has 'b'.*one data set\?"
    ):
        evaluate_folders(*folders, cases=cases, jobs=1)


def test_targets_without_a_prediction_are_left_out_only_when_asked(folders):
    """A fold's validation folder holds some of all cases; a score over fewer cases must be wanted."""
    save(folders[0], "a.png", square())
    for name in ("a.png", "b.png"):
        save(folders[1], name, square())
    with pytest.raises(BadInput, match=r"1 of 2 targets have no prediction: 'b'.*`cases=predicted`"):
        evaluate_folders(*folders, jobs=1)
    evaluation = evaluate_folders(*folders, cases="predicted", jobs=1)
    assert evaluation.left_out == ("b",)
    assert {row.case for row in evaluation.rows} == {"a", "all"}
    with pytest.raises(BadInput, match="`cases` must be all or predicted, got 'some'"):
        evaluate_folders(*folders, cases="some", jobs=1)


def test_without_a_background_label_0_is_scored_too(folders):
    """24 pixels of class 1 in 480, moved by one row: 20 shared, so class 0 shares 456 - 4 = 452 of 456."""
    for folder, shift in zip(folders, (1, 0), strict=True):
        save(folder, "a.png", square(shift=shift))
    assert values(run(folders))[("a", 1)] == pytest.approx(20 / 24)
    assert ("a", 0) not in values(run(folders))
    assert values(run(folders, background="none"))[("a", 0)] == pytest.approx(452 / 456)
    for wrong, sentence in (
        ({"background": "no"}, "0 or none, got 'no'"),
        ({"classes": [1]}, "`classes` leaves 0 out"),
    ):
        with pytest.raises(BadInput, match=sentence):
            run(folders, **{"background": "none"} | wrong)


def test_regions_are_scored_as_one_each(folders):
    """Target: 24 pixels of 1 beside 24 of 2. Predicted: all 48 are 1. As labels 2 has no overlap; as a region 1,2 is whole."""
    target = square((1, 2))
    save(folders[0], "a.png", (target > 0).astype(np.uint8))
    save(folders[1], "a.png", target)
    assert values(run(folders))[("a", 2)] == 0
    found = values(run(folders, regions=[[1, 2], [2]]))
    assert found == {("a", 1): 1, ("a", 2): 0}
    ignored = target.copy()
    ignored[3, 2:6] = 7  # four pixels of class 1
    save(folders[1], "a.png", ignored)
    assert values(run(folders, regions=[[1, 2]], ignore_index=7)) == {("a", 1): 1}
    for wrong, sentence in (
        ({"regions": [[1, 1]]}, "sets of different ids"),
        ({"regions": [[]]}, "sets of different ids"),
        ({"regions": [[1, 2], [2, 1]]}, "must differ from each other"),
        ({"regions": [[1, 7]], "ignore_index": 7}, "is in one of the `regions`"),
        ({"regions": [[1]], "classes": [1]}, "Give one of the two"),
    ):
        with pytest.raises(BadInput, match=sentence):
            run(folders, **wrong)


def test_a_target_that_is_no_file_is_not_passed_over(folders, tmp_path):
    """A score over fewer cases looks like any other."""
    for folder in folders:
        save(folder, "a.png", square((1,)))
    (folders[1] / "b.png").symlink_to(tmp_path / "gone.png")
    with pytest.raises(BadInput, match=r"b\.png' is no file, but a link to what is not there"):
        run(folders)
    (folders[1] / "b.png").unlink()
    (folders[1] / "b.nii").mkdir()
    with pytest.raises(BadInput, match=r"b\.nii' is no file, but a folder, a pipe or a device"):
        run(folders)


def test_a_target_may_be_called_as_a_mask_of_the_image_is(folders):
    """Predictions have the names of the images; the reader of the data set pairs x.png with x_mask.png, and so does this."""
    for name in ("x.png", "y.png"):
        save(folders[0], name, square())
    for name in ("x_mask.png", "y.png"):
        save(folders[1], name, square())
    pairs, unmatched, left_out = match_folders(*folders)
    assert [(pair.name, pair.target.name) for pair in pairs] == [("x_mask", "x_mask.png"), ("y", "y.png")]
    assert unmatched == left_out == []
    assert {row.case for row in run(folders, names={"y"}).rows} == {"y", "all"}


def test_a_prediction_may_have_its_subset_before_its_name(tmp_path):
    """As ``predict`` names it where the data set has one name in several subsets."""
    targets = tmp_path / "test" / "masks"
    targets.mkdir(parents=True)
    for name in ("0.png", "1_mask.png", "test_2.png"):
        save(targets, name, square())
    for name in ("test_0.png", "test_1.png", "test_2.png"):
        save(tmp_path / "pred", name, square())
    pairs, unmatched, left_out = match_folders(tmp_path / "pred", targets)
    assert [(pair.name, pair.predicted.stem) for pair in pairs] == [
        ("0", "test_0"),
        ("1_mask", "test_1"),
        ("test_2", "test_2"),
    ]
    assert unmatched == left_out == []
    elsewhere = tmp_path / "train" / "masks"
    targets.parent.rename(tmp_path / "train")
    with pytest.raises(BadInput, match="2 of 3 targets have no prediction: '0', '1_mask'"):
        match_folders(tmp_path / "pred", elsewhere)


def test_distances_are_in_pixels_where_nothing_says_a_spacing(folders):
    for folder in folders:
        save(folder, "a.png", square())
    assert run(folders).length_unit == "pixels"
    assert run(folders, spacing=(0.5, 0.5)).length_unit == "mm"
