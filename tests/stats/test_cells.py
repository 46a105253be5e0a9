"""Maps of cells, what can be wrong with them, and the sums over each."""

import pytest
import torch
from cases import ACTIVATIONS, KINDS, SHAPES, batch

import sizewise as sw

FIELDS = ("count", "nll", "focal", "overlap", "size", "tempered_size")


def test_components_of_several_classes_with_pixels_that_do_not_count():
    labels = torch.tensor([[[1, 0, 2, 255, 1, 1]], [[0, 0, 0, 0, 0, 0]]])
    cells = sw.components(labels, ignore_index=255)
    assert cells.classes == (1, 2)
    assert cells.most == 2
    assert cells[1].tolist() == [[[1, 1, 1, 0, 2, 2]], [[0] * 6]]
    assert cells[2].tolist() == [[[1, 1, 1, 0, 1, 1]], [[0] * 6]]
    masked = sw.components(labels, labels != 255, classes="all", ignore_index=255)
    assert masked.classes == (0, 1, 2)
    assert torch.equal(masked[1], cells[1])
    assert masked[0].tolist() == [[[1, 1, 1, 0, 1, 1]], [[1] * 6]]
    assert list(sw.components(labels, classes=[2], ignore_index=255)) == [2]


def test_sigmoid_channels_and_probabilities_have_components_of_their_own():
    channels = torch.tensor([[[1, 0, 1], [0, 1, 1]]])
    cells = sw.components(channels, activation="sigmoid")
    assert cells[0].tolist() == [[1, 1, 2]]
    assert cells[1].tolist() == [[1, 1, 1]]
    labels = torch.tensor([[0, 1, 2, 1]])
    one_hot = torch.eye(3)[labels].movedim(-1, 1)
    assert torch.equal(sw.components(one_hot).maps, sw.components(labels).maps)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_sums_of_a_cell_are_those_of_an_image_with_the_cell_as_its_mask(activation, kind, shape):
    one = batch(activation, kind, shape)
    logits, target, mask = one.tensors()
    reading = {"ignore_index": one.ignore_index, "activation": activation, "fields": FIELDS, "gamma": (0.5, 2)}
    soft = target.dtype.is_floating_point
    flat = target.squeeze(1) if kind == "labels with a channel axis" and activation == "softmax" else target
    if activation == "sigmoid" and flat.dim() < logits.dim():
        flat = flat.unsqueeze(1)
    cells = sw.components(
        flat, mask, classes="all", ignore_index=None if soft else one.ignore_index, activation=activation
    )
    found = sw.region_stats(logits, target, mask, cells=cells, **reading).sums.unflatten(1, (len(logits), cells.most))
    for k, map_of_cells in cells.items():
        for number in range(1, cells.most + 1):
            inside = map_of_cells == number
            if activation == "sigmoid":
                inside = inside.unsqueeze(1).expand(logits.shape)
            if mask is not None:
                kept = mask if mask.dim() == inside.dim() else mask.unsqueeze(1)
                inside = inside & kept
            wanted = sw.region_stats(logits, target, inside, **reading).sums
            torch.testing.assert_close(found[:, :, number - 1, k], wanted[:, :, k], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_of_every_sum(activation, kind):
    one = batch(activation, kind, "1d", scale=0.4)
    logits, target, mask = one.tensors()
    cells = sw.Cells(
        torch.randint(0, 3, logits.shape, generator=torch.Generator().manual_seed(0)), range(logits.shape[1])
    )

    def sums(logits):
        options = {"ignore_index": one.ignore_index, "activation": activation, "fields": FIELDS, "cells": cells}
        return sw.region_stats(logits, target, mask, gamma=(0.5, 2), temperature=(3, 10), **options).sums

    assert torch.autograd.gradcheck(sums, (logits.clone().requires_grad_(),), atol=1e-7, rtol=1e-5, fast_mode=True)


def test_chunks_of_one_image_add_up():
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 300, 257)
    target = (torch.rand(2, 300, 257) < 0.01).long() * torch.randint(1, 3, (2, 300, 257))
    cells = sw.components(target)
    found = sw.region_stats(logits, target, cells=cells, fields=("count", "size"))
    rows = found.field(found.fields[1]).view(2, cells.most, 3)
    for k in (1, 2):
        numbers = [(cells[k][n] == m + 1).sum() for n in range(2) for m in range(cells.most)]
        assert rows[..., k].flatten().tolist() == [float(number) for number in numbers]
    torch.testing.assert_close(found.size[:, 1].view(2, -1).sum(1), logits.softmax(1)[:, 1].flatten(1).sum(1))


def test_what_is_wrong_with_cells_is_said():
    logits, target = torch.zeros(1, 2, 4), torch.tensor([[0, 1, 0, 1]])
    criterion = sw.loss("CC-Dice")
    with pytest.raises(TypeError, match=r"CC-Dice: cells must be what sizewise.components\(labels\) returns"):
        criterion(logits, target, cells=torch.zeros(1, 4))
    with pytest.raises(ValueError, match=r"CC-Dice: cells must have maps of shape \(1, 1, 4\), got \(1, 1, 3\)"):
        criterion(logits, target, cells=sw.components(target[:, :3]))
    with pytest.raises(ValueError, match=r"cells are of the classes \[5\], but there are 2"):
        criterion(logits, target, cells=sw.components(target, classes=[5]))
    with pytest.raises(TypeError, match=r"Cells: maps must hold integers"):
        sw.Cells(torch.zeros(1, 1, 4), [1])
    with pytest.raises(ValueError, match=r"Cells: maps must have shape \(N, K', \*S\) with one map for each"):
        sw.Cells(torch.zeros(1, 1, 4, dtype=torch.int32), [1, 2])
    with pytest.raises(ValueError, match=r"components: labels must have shape \(N, \*S\)"):
        sw.components(torch.zeros(4, dtype=torch.long))
    with pytest.raises(ValueError, match=r"components: mask must be bool, \(N, \*S\) = \(1, 4\), True at the pixels"):
        sw.components(target, torch.ones(1, 3, dtype=torch.bool))
    none = sw.components(target[:0], torch.ones(0, 4, dtype=torch.bool))
    assert (none.most, none.maps.shape) == (0, (0, 0, 4))
    by_class = {1: sw.components(target)[1]}
    assert criterion(logits, target, cells=by_class) == criterion(logits, target)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (torch.ones(2, 8, 8), {}, "must be >= 0 and sum to 1 over the classes"),
        (torch.zeros(8, dtype=torch.long), {}, "For one image use"),
        (torch.zeros(1, 8, dtype=torch.long), {"classes": [-1]}, "components: classes must be distinct ids >= 0"),
        (torch.zeros(1, 8, dtype=torch.long), {"classes": [1, 1]}, "components: classes must be distinct ids >= 0"),
        (torch.zeros(1, 8, dtype=torch.long), {"mask": torch.ones(1, 8)}, "mask must be bool"),
        (
            torch.zeros(1, 8, dtype=torch.long),
            {"classes": 1},
            "components: classes must be .* a list of class ids, got 1",
        ),
        (torch.zeros(1, 8, dtype=torch.long), {"classes": [1.5]}, "a list of class ids, got .1.5."),
    ],
    ids=["float label map", "no batch", "negative", "twice", "mask", "one number", "between two"],
)
def test_what_components_cannot_be_found_in_is_said(labels, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sw.components(labels, **options)


def test_a_class_that_was_never_looked_for_is_an_error_and_one_above_all_labels_is_not():
    logits, target = torch.zeros(1, 4, 6), torch.tensor([[0, 1, 0, 2, 2, 0]])
    foreground = sw.components(target)  # of the classes 1 and 2; class 3 has no pixel
    criterion = sw.loss("CC-Dice")
    assert torch.equal(criterion(logits, target, cells=foreground), criterion(logits, target))
    everything = sw.loss("CC-Dice", classes="all")
    message = (
        r"CC-Dice: cells are of the classes \[1, 2\], but this loss looks at \[0, 1, 2, 3\]. Use sizewise.components"
    )
    with pytest.raises(ValueError, match=message):
        everything(logits, target, cells=foreground)
    with pytest.raises(ValueError, match=r"cells are of the classes \[2\], but this loss looks at \[1, 2, 3\]"):
        criterion(logits, target, cells={2: foreground[2]})
    cells = sw.components(target, classes="all")
    assert torch.equal(everything(logits, target, cells=cells), everything(logits, target))
    nothing = torch.zeros_like(target)
    assert criterion(logits, nothing, cells=sw.components(nothing)) == 0


def test_numbers_below_one_are_no_cell():
    logits, target = torch.randn(1, 2, 6), torch.tensor([[0, 1, 0, 0, 1, 0]])
    criterion, cells = sw.loss("CC-Dice"), sw.components(target)[1].long()
    outside = torch.tensor([[True, True, False, False, False, False]])
    zero, negative = ({1: cells.where(~outside, other)} for other in (0, -1))
    assert torch.equal(criterion(logits, target, cells=negative), criterion(logits, target, cells=zero))
    assert criterion(logits, target, cells={1: torch.full_like(cells, -1)}) == 0
