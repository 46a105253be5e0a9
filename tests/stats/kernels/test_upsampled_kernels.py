"""The kernels on logits smaller than the target, against the reference: values, gradients, and the same bits."""

import pytest
import torch
from kernel_cases import Case, build, judge
from kernel_device import DEVICE
from sampling import sample

from sizewise.stats.kernels import label_errors, passes
from sizewise.stats.kernels.axis_pieces import pieces_of
from sizewise.stats.kernels.backend import MOST_COLUMNS, covers
from sizewise.stats.upsampling import Axis

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter

SIZES = [
    ((3, 4), (12, 16)),
    ((2, 3), (4, 6)),
    ((3, 2), (7, 9)),
    ((2, 5), (2, 11)),
    ((1, 1), (3, 5)),
    ((3, 3), (3, 3)),
    ((5,), (13,)),
    ((2, 2, 2), (3, 4, 5)),
]
FORMS = [
    Case((2, channels, *full), dtype, target, sigmoid, mask, ignore, layout, fields, 3.0, small, upsample)
    for small, full in SIZES
    for upsample in ("linear", "linear-corners")
    for channels in (2, 3, 9)
    for dtype in ("float32", "bfloat16", "float64")
    for target in ("uint8", "int64", "shares float32")
    for sigmoid in (False, True)
    for mask in (False, True)
    for ignore in (None, 255)
    for layout in ("contiguous", "channels_last", "crop")
    for fields in ("rce", "every", "dice", "sizes")
    if not (ignore is not None and target.startswith("shares")) and not (sigmoid and channels == 9)
]


def name(case):
    return "-".join(str(value).replace(" ", "") for value in case)


@pytest.mark.parametrize("case", sample(FORMS, 8, seed=4), ids=name)
def test_every_form_of_input(case):
    judge(case, passes, DEVICE)


@pytest.mark.parametrize("classes", sample((2, 19, 33, 150, 300), 1, seed=1))
def test_every_number_of_classes(classes):
    judge(Case((1, classes, 4, 9), fields="rce", small=(1, 3), upsample="linear"), passes, DEVICE)


def test_counts_alone_have_no_gradient():
    judge(Case((1, 3, 4, 4), fields="counts", small=(2, 2), upsample="linear"), passes, DEVICE)


def test_several_programs_in_every_direction_and_the_same_bits_twice():
    case = Case((1, 2, 8, 90), mask=True, fields="rce", small=(4, 45), upsample="linear")
    judge(case, passes, DEVICE)
    arguments = build(case, DEVICE)
    coefficients = torch.ones_like(passes.region_sums(*arguments))
    first = passes.region_gradient(coefficients, *arguments)
    assert torch.equal(first, passes.region_gradient(coefficients, *arguments))


def test_a_bad_label_makes_nan_and_is_raised():
    arguments = list(build(Case((1, 3, 8, 8), fields="rce", small=(2, 2), upsample="linear"), DEVICE))
    arguments[1] = arguments[1].clone()
    arguments[1][0, 0, 7, 7] = 9
    assert passes.region_sums(*arguments)[2:].isnan().all()
    with pytest.raises(ValueError, match="label 9"):
        label_errors.check()


def test_a_ratio_beyond_the_columns_of_a_program_is_left_to_the_reference():
    assert covers(4, 4 * MOST_COLUMNS // 2, "linear-corners") is False
    assert covers(4, 64, "linear")
    assert not covers(1, MOST_COLUMNS + 1, "linear")


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(("cells", "pixels"), [(7, 7), (5, 20), (9, 31), (64, 500), (1, 12)])
def test_pieces_cover_each_pixel_once_and_a_block_of_them_what_touches_its_cells(cells, pixels, corners):
    axis = Axis(cells, pixels, corners)
    pieces = pieces_of(cells, pixels, corners, 4)
    covered = [range(*both) for both in zip(pieces.begin.tolist(), pieces.end.tolist(), strict=True)]
    assert [pixel for piece in covered for pixel in piece] == list(range(pixels))
    for place, piece in enumerate(covered):
        assert len(piece) <= pieces.longest
        assert {int(axis.first[pixel]) for pixel in piece} == {int(pieces.first[place])}
        assert {int(axis.second[pixel]) for pixel in piece} == {int(pieces.second[place])}
    lanes = max(32, pieces.most_around_one())
    together = pieces.cells_in(lanes)
    for first in range(0, cells, together):
        around = axis.touching(slice(first, min(first + together, cells)))
        block = range(pieces.starts[max(0, first - 1)], pieces.starts[min(first + together, cells)])
        assert len(block) <= lanes
        assert covered[block[0]][0] == around.start
        assert covered[block[-1]][-1] == around.stop - 1


def test_the_length_of_pieces_is_the_one_that_fits():
    assert pieces_of(128, 512, False, 4).longest == 4
    assert pieces_of(100, 300, False, 4).longest == 2  # a pixel on a cell, and two between
    assert pieces_of(128, 768, False, 4).longest == 3
