"""The Triton kernels for sums per cell against the reference: in the interpreter without a GPU, compiled with one."""

from itertools import product

import pytest
import torch
from kernel_cases import LAYOUTS, Case, build, laid_out
from kernel_device import DEVICE
from sampling import sample

from sizewise.stats import cell_sums as reference
from sizewise.stats.fields import Kind
from sizewise.stats.kernels import cell_passes
from sizewise.stats.kernels.label_errors import record_of
from sizewise.stats.reference import region_sums

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter

FIELDS = {
    "dice": ((Kind.COUNT, 0.0), (Kind.PIXELS, 0.0), (Kind.OVERLAP, 0.0), (Kind.SIZE, 1.0)),
    "every": (
        (Kind.COUNT, 0.0),
        (Kind.PIXELS, 0.0),
        (Kind.FOCAL, 0.0),
        (Kind.FOCAL, 2.0),
        (Kind.FOCAL, 0.5),
        (Kind.OVERLAP, 0.0),
        (Kind.SIZE, 1.0),
        (Kind.SIZE, 10.0),
    ),
    "sizes": ((Kind.COUNT, 0.0), (Kind.SIZE, 10.0)),
}
FORMS = [
    Case(shape, dtype, target, sigmoid, mask, ignore_index, "contiguous", fields)
    for shape in ((2, 3, 7, 5), (1, 5, 600), (1, 4, 3, 4, 3), (2, 2, 20, 30))
    for dtype in ("float32", "bfloat16", "float16")
    for target in ("uint8", "int64", "shares float32")
    for sigmoid in (False, True)
    for mask in (False, True)
    for ignore_index in (None, 255, 1)
    for fields in FIELDS
    if not (ignore_index is not None and target.startswith("shares"))
]


def given(case, seed=0, most=6):
    """The operator's arguments, with cells in stretches, some pixels without any, and a class without a map."""
    logits, target, mask, ignore_index, sigmoid, *_ = build(case._replace(fields="dice"), DEVICE, seed)
    classes = tuple(range(logits.shape[1])) if sigmoid else tuple(k for k in range(logits.shape[1]) if k != 1)
    draw = torch.Generator().manual_seed(seed)
    flat = torch.arange(logits[0, 0].numel()).view(1, 1, *logits.shape[2:])
    stretch = torch.randint(3, 40, (logits.shape[0], len(classes), *[1] * (logits.dim() - 2)), generator=draw)
    maps = ((flat // stretch) % (most + 1)).to(torch.int32 if case.mask else torch.int16)
    maps = laid_out(maps, case.layout if case.layout in ("transposed", "crop") else "contiguous").to(DEVICE)
    kinds, parameters = zip(*((int(kind), parameter) for kind, parameter in FIELDS[case.fields]), strict=True)
    return logits, target, mask, maps, classes, most, ignore_index, sigmoid, list(kinds), list(parameters)


def judge(case, seed=0):
    arguments = given(case, seed)
    logits = arguments[0]
    assert cell_passes.takes(logits, arguments[3], arguments[4], arguments[7], arguments[8])
    wide = (logits.double(), *arguments[1:])
    wanted = reference.cell_sums(*wide)
    found = cell_passes.cell_sums(*arguments)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), wanted, rtol=2e-5, atol=2e-5)
    coefficients = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    before = torch.randn(logits.shape, generator=torch.Generator().manual_seed(2)).to(DEVICE, logits.dtype)
    gradient = torch.empty_like(logits).copy_(before)
    cell_passes.add_cell_gradient(gradient, coefficients, *arguments)
    wanted = before.double() + reference.cell_gradient(coefficients.double(), *wide)
    rounding = torch.finfo(logits.dtype).eps
    torch.testing.assert_close(gradient.double(), wanted, rtol=rounding + 2e-5, atol=rounding + 5e-5)


def name(case):
    return "-".join(str(value).replace(" ", "") for value in case)


@pytest.mark.parametrize("case", sample(FORMS, 7), ids=name)
def test_every_form_of_input(case):
    judge(case)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout):
    judge(Case((2, 3, 9, 11), layout=layout, fields="dice"))


def test_same_bits_every_time_and_no_pixel_is_lost():
    arguments = given(Case((2, 2, 40, 50), fields="every"))
    first, second = (cell_passes.cell_sums(*arguments) for _ in range(2))
    assert torch.equal(first, second)
    maps, most = arguments[3], arguments[5]
    for place, k in enumerate(arguments[4]):
        numbers = torch.stack([(maps[:, place] == m).flatten(1).sum(1) for m in range(1, most + 1)], 1)
        assert torch.equal(first[1, :, k].view(2, most).long(), numbers)


def test_not_a_number_reaches_its_own_cell_alone():
    arguments = given(Case((1, 2, 10, 10), fields="dice"))
    logits, maps = arguments[0].clone(), arguments[3]
    logits[0, :, 0, 0] = float("nan")
    maps[0, :, 0, 0] = 1
    found = cell_passes.cell_sums(logits, *arguments[1:])
    wanted = reference.cell_sums(logits, *arguments[1:])
    assert torch.equal(found[2:, 0].isnan(), torch.tensor(wanted[2:, 0].isnan().tolist()).to(DEVICE))
    assert found[:, 1:].isfinite().all()


@pytest.mark.parametrize(("sharpness", "products"), sample(product([0.0, 1.0, 30.0], [True, False]), 2, seed=3))
def test_the_sums_of_images_with_one_logarithm_for_a_lane_or_one_for_a_pixel(sharpness, products, monkeypatch):
    if not products:
        monkeypatch.setattr(cell_passes, "fits_product", lambda *_: False)
    logits, target, _, maps, classes, most, *_ = given(Case((2, 3, 60, 32), target="int64"))
    target, fields = target.clamp(max=2), ((Kind.COUNT, 0.0), (Kind.PIXELS, 0.0), (Kind.FOCAL, 0.0), (Kind.SIZE, 1.0))
    kinds, parameters = ([int(kind) for kind, _ in fields], [parameter for _, parameter in fields])
    logits = sharpness * logits
    options = (None, False, kinds, parameters)
    call = cell_passes.SumsCall([logits, target, logits, maps], False, classes, most, options, fields, (0, 3))
    assert call.launch.constants["PRODUCT"] == (2 if products else -1)
    found, table = call.both(logits, target, None, maps, record_of(logits.device).tensor)
    wanted = region_sums(logits.double(), target, None, *options, None)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-6, atol=1e-6)
    cells = reference.cell_sums(logits.double(), target, None, maps, classes, most, *options)
    torch.testing.assert_close(call.as_floats(table).double()[[0, 3]], cells[[0, 3]], rtol=2e-5, atol=2e-5)
    assert not table[1:3].any()


def test_what_the_kernels_leave_to_the_reference():
    arguments = given(Case((1, 3, 5, 5), fields="dice"))
    logits, _, _, maps, classes, _, _, sigmoid, kinds, _ = arguments
    assert not cell_passes.takes(logits.double(), maps, classes, sigmoid, kinds)
    assert not cell_passes.takes(logits, maps, classes, sigmoid, [int(Kind.KEPT_SIZE)])
    assert not cell_passes.takes(logits, maps, (0, 2), True, kinds)
