"""Region sizes from masks: components, subsets, the sample, and sentences."""

import numpy as np
import pytest
from data.layouts.idrid import write_idrid
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from PIL import Image

from sizewise.advice.mask_regions import FEWEST_CASES, mask_regions
from sizewise.data.recognise import open_dataset
from sizewise.errors import BadInput


def write_masks(root, masks):
    """A folder with these label maps, and a grey picture for each."""
    for folder in ("images", "masks"):
        (root / folder).mkdir(parents=True)
    for number, mask in enumerate(masks):
        Image.fromarray(np.full((*mask.shape, 3), 90, np.uint8)).save(root / "images" / f"{number:03d}.png")
        Image.fromarray(mask.astype(np.uint8)).save(root / "masks" / f"{number:03d}.png")
    return root


def test_shares_and_components_by_hand(tmp_path):
    first, second = np.zeros((2, 10, 10), int)
    first[0, 0] = first[1, 1] = 1  # corners touch: one component
    first[5:7, 5:8] = 2
    second[0, :3] = second[9, :5] = 1
    second[4] = 255
    dataset = open_dataset(write_masks(tmp_path / "d", [first, second]), ignore_index=255)
    found = mask_regions(dataset).table
    assert found.shares.tolist() == [[0.02, 0.06], [8 / 90, 0.0]]
    assert found.pieces.tolist() == [[1, 1], [2, 0]]
    assert [sorted(sizes.tolist()) for sizes in found.pieces_px] == [[2, 3, 5], [6]]
    every = mask_regions(open_dataset(tmp_path / "d", ignore_index=255, background="none")).table
    assert every.shares.shape == (2, 3)
    assert every.shares.sum(axis=1) == pytest.approx([1, 1])


def test_test_cases_are_left_out_where_they_are_known(tmp_path):
    dataset = open_dataset(write_multiclass_folder(tmp_path / "d"))
    kept = sum(case.subset != "test" for case in dataset.cases)
    found = mask_regions(dataset)
    assert len(found.table.shares) == kept < len(dataset.cases)
    assert f"{kept} of {len(dataset.cases)} cases, without those for testing" in found.said
    all_of_it = mask_regions(dataset, subsets={case.name: "train" for case in dataset.cases})
    assert len(all_of_it.table.shares) == len(dataset.cases)
    drawn_later = mask_regions(open_dataset(write_image_folder(tmp_path / "e")))
    assert drawn_later.said == ("Sizes of 8 cases; which of them will be for testing is drawn when training starts.")


def test_a_sample_is_seeded_and_said(tmp_path):
    dataset = open_dataset(write_masks(tmp_path / "d", [np.eye(8, dtype=int)] * (FEWEST_CASES + 9)))
    found, again = (mask_regions(dataset, most_pixels=64) for _ in range(2))
    assert len(found.table.shares) == FEWEST_CASES
    assert (found.table.shares == again.table.shares).all()
    assert found.said == (
        f"Sizes of {FEWEST_CASES} cases, drawn with seed 0 from {FEWEST_CASES + 9} cases: more would take long."
    )


def test_regions_that_may_overlap_are_counted_channel_by_channel(tmp_path):
    dataset = open_dataset(write_idrid(tmp_path))
    found = mask_regions(dataset).table
    assert found.shares.shape == (4, 5)  # test cases are left out
    for row, case in enumerate(case for case in dataset.cases if case.subset == "train"):
        target = dataset.reader.target(case)
        assert found.shares[row].tolist() == [channel.mean() for channel in target]
        assert (found.pieces[row] > 0).tolist() == [bool(channel.any()) for channel in target]
    assert [sizes.sum() > 0 for sizes in found.pieces_px] == [(column > 0).any() for column in found.shares.T]


def test_volumes():
    found = mask_regions(open_dataset("synthetic-3d")).table
    assert found.spatial_dims == 3
    assert (found.pieces >= (found.shares > 0)).all()


def test_no_masks_and_empty_masks_are_sentences(tmp_path):
    from dataclasses import replace

    dataset = open_dataset(write_masks(tmp_path / "d", [np.zeros((8, 8), int), np.eye(8, dtype=int)]))
    without = replace(dataset, cases=tuple(replace(case, target=()) for case in dataset.cases))
    with pytest.raises(BadInput, match="no case has a mask, and region sizes are read from masks"):
        mask_regions(without)
    with pytest.raises(BadInput, match="every mask is empty"):
        mask_regions(replace(dataset, cases=dataset.cases[:1]))
