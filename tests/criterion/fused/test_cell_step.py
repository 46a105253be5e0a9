"""The step with terms per component as kernels, in the interpreter: the values and gradients of plain torch."""

import pytest
import torch
from kernel_device import DEVICE

import sizewise as sw
from sizewise.criterion import step as step_module
from sizewise.criterion.fused.cell_step import CellStep, fused_cell_step
from sizewise.criterion.fused.kernel import FormulaKernel
from sizewise.stats import fields as f

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter


def example(classes=3, size=(9, 10), sigmoid=False, soft=False):
    draw = torch.Generator().manual_seed(0)
    logits = torch.randn(2, classes, *size, generator=draw)
    shape = (2, classes, *size) if sigmoid else (2, *size)
    target = torch.randint(0, 2 if sigmoid else classes, shape, generator=draw)
    target = target * (torch.rand(shape, generator=draw) < 0.3)
    if soft:
        target = torch.nn.functional.one_hot(target, classes).movedim(-1, 1).float() * 0.9 + 0.1 / classes
    return logits.to(DEVICE), target.to(DEVICE)


def both(criterion, logits, target, mask=None, cells=None, values=False):
    """Loss, gradient and the backend's class, with kernels and without."""
    results = []
    for wanted in (True, False):
        leaf = logits.clone().requires_grad_()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(step_module, "takes_kernels", lambda _, wanted=wanted: wanted)
            taken = step_module.take_step(criterion, leaf, target, mask, cells=cells, separate=values)
            loss = sum(taken.terms.values()) if values else taken.total
            (gradient,) = torch.autograd.grad(-3 * loss, leaf)
        results.append((loss.detach(), gradient, taken))
    return results


def agree(results, rtol=2e-5):
    (loss, gradient, taken), (wanted, wanted_gradient, plain) = results
    assert isinstance(taken.backend, CellStep)
    assert not isinstance(plain.backend, CellStep)
    torch.testing.assert_close(loss, wanted, rtol=rtol, atol=1e-6)
    assert (gradient - wanted_gradient).norm() <= rtol * wanted_gradient.norm()
    found = taken.stats.cells
    for place, field in enumerate(found.fields):
        torch.testing.assert_close(found.sums[place], plain.stats.cells.field(field), rtol=1e-5, atol=1e-5)


CRITERIA = {
    "CC-DiceCE": lambda: sw.loss("CC-DiceCE"),
    "CC-Dice": lambda: sw.loss("CC-Dice"),
    "several": lambda: sw.Loss(
        0.5 * sw.loss("RCE")
        + sw.per_component(sw.Focal(classes=[2, 1]))
        + 0.3 * sw.per_component(sw.LogDice(scope="batch", class_weight=[1.0, 2.0, 3.0]))
    ),
}


@pytest.mark.parametrize("name", list(CRITERIA))
def test_one_node_gives_loss_gradient_and_sums_of_plain_torch(name):
    logits, target = example()
    agree(both(CRITERIA[name]().to(DEVICE), logits, target))


def test_each_value_has_a_gradient_of_its_own():
    logits, target = example()
    agree(both(sw.loss("CC-DiceCE").to(DEVICE), logits, target, values=True))


def test_masks_ignored_labels_channels_and_probabilities():
    logits, target = example()
    mask = torch.rand(target.shape, generator=torch.Generator().manual_seed(2)).to(DEVICE) < 0.8
    spoiled = logits.masked_fill(~mask.unsqueeze(1), torch.nan)
    found = both(sw.loss("CC-DiceCE", ignore_index=0).to(DEVICE), spoiled, target, mask)
    agree(found)
    assert (found[0][1][~mask.unsqueeze(1).expand_as(logits)] == 0).all()
    agree(both(sw.loss("CC-DiceCE", activation="sigmoid").to(DEVICE), *example(sigmoid=True)))
    agree(both(sw.loss("CC-DiceCE").to(DEVICE), *example(soft=True)))


def test_callbacks_see_every_sum_of_cells_and_nobody_else_pays_for_them():
    logits, target = example()
    criterion = sw.loss("CC-DiceCE").to(DEVICE)
    (_, _, taken), _ = both(criterion, logits, target)
    assert taken.stats.cells.fields == (f.COUNT, f.OVERLAP, f.SIZE)
    seen = []
    criterion.watch(lambda stats, _: seen.append(stats.cells))
    agree(both(criterion, logits, target))
    kernels, plain = seen
    assert kernels.fields == plain.fields
    assert torch.equal(kernels.field(f.PIXELS), plain.field(f.PIXELS))


def test_given_cells_of_other_numbers_take_the_same_launches():
    logits, target = example()
    criterion = sw.loss("CC-DiceCE").to(DEVICE)
    found = sw.components(target, classes=(1, 2))
    for cells in (found, sw.Cells(found.maps, found.classes, found.most + 1)):
        agree(both(criterion, logits, target, cells=cells)[:2])
    assert len(criterion.snapshot().plans[0]) == 1


def test_without_a_component_there_is_no_value():
    logits, target = example()
    loss, gradient, _ = both(sw.loss("CC-Dice").to(DEVICE), logits, torch.zeros_like(target))[0]
    assert loss == 0
    assert (gradient == 0).all()


def test_a_logit_that_is_no_number_makes_the_loss_nan_where_it_counts():
    logits, target = example()
    logits[0, 1, 2, 3] = torch.nan
    for loss, _, _ in both(sw.loss("CC-Dice").to(DEVICE), logits, target):
        assert loss.isnan()


def test_the_same_bits_every_time_and_half_precision():
    logits, target = example(size=(12, 14))
    criterion = sw.loss("CC-DiceCE").to(DEVICE)
    first, again = (both(criterion, logits, target)[0] for _ in range(2))
    assert torch.equal(first[1], again[1])
    half = both(criterion, logits.bfloat16(), target)
    assert half[0][1].dtype == torch.bfloat16
    agree(half, rtol=1e-2)


def test_a_gradient_with_a_graph_says_that_there_is_no_second_one(monkeypatch):
    monkeypatch.setattr(step_module, "takes_kernels", lambda _: True)
    logits, target = example()
    leaf = logits.requires_grad_()
    loss = sw.loss("CC-DiceCE").to(DEVICE)(leaf, target)
    (usual,) = torch.autograd.grad(loss, leaf, retain_graph=True)
    (gradient,) = torch.autograd.grad(loss, leaf, create_graph=True)
    torch.testing.assert_close(gradient, usual)
    with pytest.raises(RuntimeError, match="second"):
        gradient.sum().backward()


def test_more_cells_than_fit_one_program_are_left_to_torch(monkeypatch):
    logits, target = example()
    criterion = sw.loss("CC-DiceCE").to(DEVICE)
    monkeypatch.setattr(FormulaKernel, "takes", lambda *_: False)
    plan, cells = fused_cell_step(criterion.snapshot(), criterion, logits, target, None, None, False)
    assert plan is None
    assert cells.most > 0
