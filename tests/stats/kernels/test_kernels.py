"""The Triton kernels against the reference: in the interpreter without a GPU, compiled with one."""

from functools import partial

import pytest
import torch
from kernel_cases import FIELD_SETS, LABEL_DTYPES, LAYOUTS, Case, build, judge
from kernel_device import DEVICE, ON_GPU
from sampling import sample

from sizewise.stats import reference
from sizewise.stats.kernels import label_errors, passes, word_calls
from sizewise.stats.kernels.shapes import WordShape

# The interpreter computes with numpy, which warns about log 0 and about a NaN that goes nowhere.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

FORMS = [
    Case(shape, dtype, target, sigmoid, mask, ignore_index, "contiguous", fields)
    for shape in ((2, 3, 7, 5), (1, 5, 150), (1, 8, 3, 4, 3), (2, 2, 4, 4))
    for dtype in ("float32", "bfloat16", "float16", "float64")
    for target in ("uint8", "int64", "shares float32", "shares bfloat16")
    for sigmoid in (False, True)
    for mask in (False, True)
    for ignore_index in (None, 255, 1)
    for fields in FIELD_SETS
    if not (ignore_index is not None and target.startswith("shares"))
]
LAID_OUT = [
    Case(shape, "float32", target, sigmoid, mask, None, layout, "every")
    for shape in ((2, 3, 5, 6), (1, 6, 3, 2, 4), (2, 40, 3, 5))
    for target in ("int32", "shares float32")
    for sigmoid in (False, True)
    for mask in (False, True)
    for layout in LAYOUTS
    if not (sigmoid and shape[1] > 6)
]
CLASS_COUNTS = [
    Case((1, classes, 3, 13), "float32", target, fields=fields)
    for classes in (2, 16, 19, 32, 33, 64, 150, 256)
    for target in ("int16", "shares float32")
    for fields in ("rce", "every")
]
# Sizes that let a thread read several values at once, in lines of pixels or of pixels with all their classes.
WORDS = [
    Case(shape, dtype, target, False, mask, ignore_index, layout, fields)
    for shape in ((2, 2, 8, 16), (1, 7, 2, 4, 12), (2, 13, 6, 20), (1, 30, 44), (1, 50, 6, 4), (1, 61, 4, 4))
    for dtype in ("float32", "bfloat16", "float16", "float64")
    for target in ("uint8", "int64")
    for mask in (False, True)
    for ignore_index in (None, 1)
    for layout in ("contiguous", "channels_last")
    for fields in FIELD_SETS
]


def name(case):
    return "-".join(str(value).replace(" ", "") for value in case)


@pytest.mark.parametrize("case", sample(FORMS, 24), ids=name)
def test_every_form_of_input(case):
    judge(case, passes, DEVICE)


@pytest.mark.parametrize("case", sample(WORDS, 14), ids=name)
def test_several_values_at_once(case, monkeypatch):
    """The kernels by words, also where they are not what runs by default."""

    def shape_of(classes, memory, itemsize, word, writes=False):
        unrolled, runs = classes <= 32, writes and memory == "runs" and classes <= 32 and word > 0
        word = word if memory == "pixels" or runs else 0
        vector = max(1, word // itemsize)
        chunk, lanes = (1, 64) if unrolled else (8, 16)
        return WordShape(chunk, lanes * vector, 1, vector, 4, word, runs, classes % 2 == 1)

    monkeypatch.setattr(passes, "_calls", {})
    monkeypatch.setattr(word_calls, "word_sums_shape", shape_of)
    monkeypatch.setattr(word_calls, "word_gradient_shape", partial(shape_of, writes=True))
    judge(case, passes, DEVICE, seed=2)


# What the default shapes are made for, and what just misses it: lines that are no words, odd runs, a power of two.
BY_DEFAULT = [
    Case(shape, dtype, "uint8", False, mask, 3, layout, fields)
    for shape in ((1, 7, 6, 12), (2, 8, 5, 7), (1, 19, 3, 2), (2, 21, 4, 4), (1, 36, 4, 8), (1, 40, 3, 6))
    for dtype in ("float32", "bfloat16", "float16")
    for mask in (False, True)
    for layout in ("contiguous", "channels_last", "crop", "shifted")
    for fields in ("rce", "dice", "every")
]


@pytest.mark.parametrize("case", sample(BY_DEFAULT, 16), ids=name)
def test_words_where_they_are_the_default(case):
    judge(case, passes, DEVICE)


@pytest.mark.parametrize("case", sample(LAID_OUT, 12), ids=name)
def test_every_layout(case):
    judge(case, passes, DEVICE, seed=1)


@pytest.mark.parametrize("case", sample(CLASS_COUNTS, 12), ids=name)
def test_every_number_of_classes(case):
    judge(case, passes, DEVICE)


@pytest.mark.parametrize("dtype", LABEL_DTYPES)
def test_every_label_dtype(dtype):
    judge(Case((1, 3, 5, 7), target=dtype, ignore_index=2, fields="rce"), passes, DEVICE)
    judge(Case((1, 3, 5, 7), target=dtype, ignore_index=-1 if dtype.startswith("int") else None), passes, DEVICE)


def test_bool_labels_of_sigmoid_channels():
    judge(Case((2, 3, 5, 7), target="bool", sigmoid=True), passes, DEVICE)


def test_an_ignore_index_outside_the_dtype_matches_nothing():
    logits, target, *rest = build(Case((1, 3, 4, 4), target="uint8", fields="rce"), DEVICE)
    rest[1] = -1 - (1 << 40)
    assert torch.equal(passes.region_sums(logits, target, *rest)[1], torch.full((1, 3), 16.0, device=DEVICE))


@pytest.mark.parametrize("scale", [1e-3, 50.0, 1e4])
def test_small_and_saturated_logits(scale):
    judge(Case((1, 4, 6, 7), scale=scale), passes, DEVICE)


def test_one_pixel_and_nothing_at_all():
    judge(Case((1, 3, 1)), passes, DEVICE)
    for shape in ((0, 3, 4, 4), (2, 3, 0, 4)):
        case = Case(shape)
        arguments = build(case, DEVICE)
        sums = passes.region_sums(*arguments)
        assert torch.equal(sums, torch.zeros_like(sums))
        assert passes.region_gradient(sums, *arguments).shape == shape


def test_the_same_bits_twice():
    arguments = build(Case((1, 5, 13, 17), mask=True, fields="rce"), DEVICE)
    first = passes.region_sums(*arguments)
    assert torch.equal(first, passes.region_sums(*arguments))
    coefficients = torch.ones_like(first)
    first = passes.region_gradient(coefficients, *arguments)
    assert torch.equal(first, passes.region_gradient(coefficients, *arguments))


def test_nan_at_a_valid_pixel_shows_and_elsewhere_does_not():
    logits, target, *rest = build(Case((2, 3, 4, 4), ignore_index=255, fields="rce"), DEVICE)
    logits[target.expand_as(logits) == 255] = float("nan")
    assert passes.region_sums(logits, target, *rest).isfinite().all()
    gradient = passes.region_gradient(torch.ones(4, 2, 3, device=DEVICE), logits, target, *rest)
    assert not gradient[target.expand_as(logits) == 255].any()
    target[0] = 1
    logits[0, 2, 0, 0] = float("nan")
    sums = passes.region_sums(logits, target, *rest)
    assert sums[3, 0].isnan().all()
    assert sums[3, 1].isfinite().all()


@pytest.mark.parametrize(
    ("wrong", "ignore_index", "sigmoid"), [(3, None, False), (-7, 255, False), (255, None, False), (2, None, True)]
)
def test_a_label_out_of_range_makes_nan_and_is_raised_later(wrong, ignore_index, sigmoid):
    arguments = list(build(Case((2, 3, 4, 5), sigmoid=sigmoid, fields="rce"), DEVICE))
    arguments[3] = ignore_index
    good = passes.region_sums(*arguments)
    target = arguments[1].clone()
    target[1, 0, 2, 3] = wrong
    bad = [arguments[0], target, *arguments[2:]]
    sums = passes.region_sums(*bad)
    assert sums[2:].isnan().all()
    assert sums[:2].isinf().all()  # a NaN count would leave the mean over images
    passes.region_gradient(torch.ones_like(sums), *bad)  # reads nothing out of bounds
    with pytest.raises(ValueError, match="K = ") as raised:
        label_errors.check()
    with pytest.raises(ValueError, match="K = ") as expected:
        reference.region_sums(*bad)
    assert str(raised.value) == str(expected.value)
    label_errors.check()
    assert torch.equal(passes.region_sums(*arguments), good)

    passes.region_sums(*bad)
    if ON_GPU:
        torch.cuda.synchronize()
    with pytest.raises(ValueError, match=f"label {wrong}"):
        passes.region_sums(*arguments)
    assert torch.equal(passes.region_sums(*arguments), good)


def test_a_wrong_label_under_the_mask_is_not_looked_at():
    arguments = list(build(Case((1, 3, 4, 5), mask=True, fields="rce"), DEVICE))
    arguments[1] = arguments[1].masked_fill(~arguments[2], 77)
    assert passes.region_sums(*arguments).isfinite().all()
    label_errors.check()


@pytest.mark.parametrize(("sigmoid", "channels"), [(False, 3), (False, 12), (True, 3)])
def test_probabilities_that_are_none(sigmoid, channels):
    arguments = list(build(Case((2, channels, 4, 5), target="shares float32", sigmoid=sigmoid, fields="rce"), DEVICE))
    arguments[1][1, 1, 2, 3] += 1.5
    assert passes.region_sums(*arguments)[2:].isnan().all()
    with pytest.raises(ValueError, match=r"probabilities|float targets") as raised:
        label_errors.check()
    with pytest.raises(ValueError, match=r"probabilities|float targets") as expected:
        reference.region_sums(*arguments)
    assert str(raised.value) == str(expected.value)
