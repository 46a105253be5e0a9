"""What a user may call a table of sizes."""

import numpy as np
import pytest
import torch

from sizewise.advice.region_table import region_table
from sizewise.errors import BadInput


def test_pixels_and_shares_and_tensors_say_the_same():
    pixels = [[90, 10, 0], [50, 25, 25]]
    wanted = [[0.1, 0.0], [0.25, 0.25]]
    assert region_table(pixels).shares.tolist() == wanted
    assert region_table(torch.tensor(pixels)).shares.tolist() == wanted
    assert region_table(np.array(pixels) / 100).shares.tolist() == wanted


def test_every_class_is_scored_without_a_background_and_any_column_may_be_it():
    assert region_table([[90, 10], [50, 50]], background=None).shares.tolist() == [[0.9, 0.1], [0.5, 0.5]]
    assert region_table([[90, 10], [50, 50]], background=1).shares.tolist() == [[0.9], [0.5]]


def test_a_case_without_a_pixel_says_nothing():
    assert region_table([[90, 10], [0, 0]]).shares.tolist() == [[0.1]]


def test_sizes_csv(tmp_path):
    path = tmp_path / "sizes.csv"
    path.write_text(
        "case,class,class_name,size_px,proportion\n"
        "a,0,background,90,0.9\na,1,organ,10,0.1\nb,0,background,100,1\nb,1,organ,0,0\nc,0,background,0,\nc,1,organ,0,\n"
    )
    assert region_table(path).shares.tolist() == [[0.1], [0.0]]
    assert region_table(str(path), background=None).shares.shape == (2, 2)


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ([1, 2, 3], {}, r"wanted a table of region sizes.*got an array of shape \(3,\)"),
        ([], {}, "got an array of shape"),
        ("none.csv", {}, "'none.csv' cannot be read as a table of region sizes"),
        ([["a", "b"]], {}, "wanted a table of region sizes"),
        ([[1, 2], [3]], {}, "wanted a table of region sizes"),
        ([[100], [50]], {}, "no class is left to be scored: the only one is the background"),
        ([[100, 0], [50, 0]], {}, "every mask is empty"),
        ([[0, 100], [0, 50]], {}, "every mask is filled by one class from border to border"),
        ([[100, 0], [0, 50]], {"background": None}, "every mask is filled by one class"),
        ([[100, -1]], {}, "negative or infinite"),
        ([[100, float("nan")]], {}, "negative or infinite"),
        ([[90, 10]], {"background": 2}, "`background` is a column of the table, 0 to 1, or None"),
        ([[90, 10]], {"spatial_dims": 4}, "`spatial_dims` must be 1, 2 or 3, got 4"),
    ],
)
def test_what_is_none_is_a_sentence(given, options, said):
    with pytest.raises(BadInput, match=said):
        region_table(given, **options)


def test_a_csv_of_something_else(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match="has no column case, class, proportion"):
        region_table(path)
