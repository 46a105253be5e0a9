"""Formulas with terms per component as one kernel, in the interpreter: against plain torch in float64."""

import pytest
import torch
from kernel_device import DEVICE
from sampling import grid, sample

import sizewise as sw
from sizewise.criterion.fused.axes import Unsupported
from sizewise.criterion.fused.kernel import FormulaKernel
from sizewise.criterion.fused.verify import drawn_table
from sizewise.criterion.fused.write import unit_of
from sizewise.criterion.plain_step import evaluate
from sizewise.stats.region_stats import RegionStats

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter

TERMS = ("CrossEntropy", "Focal", "Dice", "LogDice", "Tversky", "Jaccard", "SizeL1", "DiceBias")
CASES = list(
    grid(
        {
            "term": TERMS,
            "scope": ("image", "batch"),
            "classes": ("all", "foreground", (2, 0)),
            "class_weight": (None, "one each"),
            "sigmoid": (False, True),
        }
    )
)
SIZES = [(1, 4, 3), (2, 1, 3), (3, 5, 3), (5, 16, 3)]


def kernel_of(criterion, like):
    known = criterion.snapshot()
    options = {"one_image": like.shape[1] == 1, "has_truth": False, "cell_fields": known.cell_fields}
    return FormulaKernel(criterion, known.fields, like, **options)


def agree(criterion, images, cells, classes, first=0):
    """L, values and both kinds of coefficients are those of plain torch; one image has no cell at all.

    Classes below ``first`` have none anywhere, so that nobody asks for their coefficients.
    """
    known, regions = criterion.snapshot(), (2,) if criterion.activation == "sigmoid" else ()
    draw = torch.Generator().manual_seed(images + cells)
    sums = (1 + 50 * torch.rand(len(known.fields), images, classes, *regions, generator=draw)).to(DEVICE)
    shape = (len(known.cell_fields), images * cells, classes, *regions)
    floats = 50 * torch.rand(shape, generator=draw, dtype=torch.float64)
    floats[0] = floats[0].round() * (torch.rand(shape[1:], generator=draw) < 0.6)
    if images > 2:
        floats[:, cells : 2 * cells] = 0
    floats[:, :, :first] = 0
    units = torch.tensor([unit_of(field) for field in known.cell_fields]).double().view(-1, *[1] * (len(shape) - 1))
    table = torch.cat((floats / units, torch.zeros(1, *shape[1:]))).round().long()
    kernel = kernel_of(criterion, sums)
    one = torch.ones(1, dtype=torch.float64, device=DEVICE)
    total, kept, on_cells = kernel(sums, None, one, kernel.launch(images, cells, first), table=table.to(DEVICE))
    planes, factors, values = kernel.parts(kept.cpu(), sums.shape[1:])
    stats = RegionStats(known.cell_fields, table[:-1] * units)
    wanted, wanted_values, exact = evaluate(criterion.cpu(), known.fields, sums.double().cpu(), None, [], True, stats)
    torch.testing.assert_close(total.cpu().double(), wanted, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(factors.double(), exact.factors, rtol=1e-6, atol=0)
    torch.testing.assert_close(values.double(), torch.stack(wanted_values), rtol=1e-6, atol=1e-7)
    rest = exact.cells.clone()
    for plane, (term, field) in zip(on_cells.cpu(), kernel.cell_planes, strict=True):
        largest = float(exact.cells[term, field].abs().max())
        found, sought = plane.double()[:, first:], exact.cells[term, field][:, first:]
        torch.testing.assert_close(found, sought, rtol=1e-5, atol=1e-6 * largest)
        rest[term, field] = 0
    assert (rest == 0).all()
    for plane, (term, field) in zip(planes, kernel.planes, strict=True):
        torch.testing.assert_close(plane.double(), exact.sums[term, field], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("name", ["CC-Dice", "CC-DiceCE"])
def test_named_losses(name, activation):
    for images, cells, classes in sample(SIZES, 2, seed=len(name)):
        for first in (0, 1 if activation == "softmax" else 0):
            agree(sw.loss(name, activation=activation).to(DEVICE), images, cells, classes, first)


@pytest.mark.parametrize("case", sample(CASES, 14, seed=4), ids=str)
def test_options_of_terms(case):
    sigmoid, kind = case["sigmoid"], getattr(sw, case["term"])
    options = {"scope": case["scope"], "classes": case["classes"]}
    if case["class_weight"]:
        options["class_weight"] = [[0.5, 1.0], [2.0, 0.25], [1.5, 3.0]] if sigmoid else [0.5, 1.0, 2.0]
    criterion = sw.Loss(
        0.7 * sw.per_component(kind(**options)) + sw.loss("DiceCE"), activation="sigmoid" if sigmoid else "softmax"
    )
    agree(criterion.to(DEVICE), *sample(SIZES, 1, seed=len(case["term"]))[0])


def test_it_is_compared_with_its_torch_code_before_it_is_used(monkeypatch):
    criterion = sw.loss("CC-DiceCE").to(DEVICE)
    known = criterion.snapshot()
    like = torch.zeros(len(known.fields), 2, 3, device=DEVICE)
    kernel = kernel_of(criterion, like)
    assert kernel.agrees_with(criterion, known.fields, like, False, known.cell_fields)
    other = kernel_of(criterion, like)
    other.units = [2 * one for one in other.units]  # what the table then means is not what the kernel reads
    with pytest.warns(RuntimeWarning, match="gave another value"):
        assert not other.agrees_with(criterion, known.fields, like, False, known.cell_fields)


def test_a_cell_with_a_pixel_that_is_no_number_makes_the_loss_nan():
    criterion = sw.loss("CC-Dice").to(DEVICE)
    known = criterion.snapshot()
    like = torch.ones(len(known.fields), 2, 3, device=DEVICE)
    kernel = kernel_of(criterion, like)
    table = drawn_table(kernel, known.cell_fields, like, torch.Generator().manual_seed(0)).to(DEVICE)
    table[0] = 1 << 40  # every cell is there
    table[-1, 1, 1] = 1
    one = torch.ones(1, dtype=torch.float64, device=DEVICE)
    assert kernel(like, None, one, kernel.launch(2, 3), table=table)[0].isnan()


def test_a_formula_that_asks_for_the_number_of_cells_is_left_to_torch():
    class Odd(sw.Dice):
        def per_cell(self, stats):
            return super().per_cell(stats) * (2 if stats.sums.shape[1] > 20 else 1)

    criterion = sw.Loss(sw.CrossEntropy() + sw.per_component(Odd())).to(DEVICE)
    with pytest.raises(Unsupported, match="number of images, or of cells"):
        kernel_of(criterion, torch.zeros(len(criterion.snapshot().fields), 2, 3, device=DEVICE))
