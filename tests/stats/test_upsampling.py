"""Logits smaller than the target: the loss of what torch's interpolate makes of them, in value and gradient."""

import pytest
import torch
from kernel_cases import enlarged
from sampling import sample
from torch import nn

import sizewise as sw
from sizewise.stats import reference
from sizewise.stats.upsampling import Axis, Enlargement

WAYS = ("linear", "linear-corners")
SIZES = [
    ((3, 4), (12, 16)),
    ((3, 2), (7, 9)),
    ((5,), (13,)),
    ((2, 3, 2), (3, 6, 5)),
    ((1, 1), (4, 3)),
    ((4, 4), (4, 4)),
]
NAMES = ("RCE", "DiceCE", "RFL-KL", "LogDiceFL", "JaccardCE", "WCE")
CASES = [
    (name, small, full, upsample, classes, activation)
    for name in NAMES
    for small, full in SIZES
    for upsample in WAYS
    for classes in (2, 3, 12)
    for activation in ("softmax", "sigmoid")
]


def draw(small, full, classes, activation="softmax", dtype=torch.float64, seed=0):
    random = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(2, classes, *small, generator=random, dtype=torch.float64)
    shape = (2, classes, *full) if activation == "sigmoid" else (2, *full)
    labels = torch.randint(0, 2 if activation == "sigmoid" else classes, shape, generator=random)
    return logits.to(dtype).requires_grad_(), labels, torch.rand(2, *full, generator=random) < 0.7


@pytest.mark.parametrize("case", sample(CASES, 60), ids=str)
def test_a_loss_is_that_of_the_interpolated_logits(case):
    name, small, full, upsample, classes, activation = case
    logits, labels, mask = draw(small, full, classes, activation)
    found = sw.loss(name, activation=activation, upsample=upsample)(logits, labels, mask)
    gradient = torch.autograd.grad(found, logits)[0]
    wanted = sw.loss(name, activation=activation)(enlarged(logits, full, upsample), labels, mask)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(gradient, torch.autograd.grad(wanted, logits)[0])


@pytest.mark.parametrize("upsample", WAYS)
@pytest.mark.parametrize("small", [(8, 8), (5, 7)])
def test_pieces_leave_no_seam(upsample, small, monkeypatch):
    logits, labels, mask = draw(small, (37, 29), 3)
    given = labels.unsqueeze(1), mask.unsqueeze(1), None, False, [0, 1, 2, 4], [0.0, 0.0, 0.0, 10.0], upsample
    whole = reference.region_sums(logits.detach(), *given)
    gradient = reference.region_gradient(whole, logits.detach(), *given)
    monkeypatch.setattr(reference, "UPSAMPLED_CHUNKS", 200)
    monkeypatch.setattr(reference, "SMALLEST_CHUNK", 200)
    torch.testing.assert_close(reference.region_sums(logits.detach(), *given), whole)
    torch.testing.assert_close(reference.region_gradient(whole, logits.detach(), *given), gradient)


def test_float32_is_nearer_to_float64_than_torchs_own_interpolation():
    logits, labels, _ = draw((30, 41), (239, 331), 5)
    exact = torch.autograd.grad(sw.loss("RCE")(enlarged(logits, labels.shape[1:], "linear"), labels), logits)[0]
    single = logits.detach().float().requires_grad_()
    ours = torch.autograd.grad(sw.loss("RCE", upsample="linear")(single, labels), single)[0]
    torchs = torch.autograd.grad(sw.loss("RCE")(enlarged(single, labels.shape[1:], "linear"), labels), single)[0]
    assert (ours - exact).norm() < (torchs - exact).norm()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_interpolated_in_float32(dtype):
    logits, labels, mask = draw((3, 4), (12, 16), 3, dtype=dtype)
    found = sw.loss("RCE", upsample="linear")(logits, labels, mask)
    wide = logits.detach().float().requires_grad_()
    wanted = sw.loss("RCE", upsample="linear")(wide, labels, mask)
    assert torch.equal(found, wanted)
    gradient, exact = torch.autograd.grad(found, logits)[0], torch.autograd.grad(wanted, wide)[0]
    assert gradient.dtype == dtype
    assert torch.equal(gradient, exact.to(dtype))


@pytest.mark.parametrize("upsample", WAYS)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_no_valid_pixel_touches_never_enters(upsample, value):
    logits, labels, _ = draw((4, 4), (12, 12), 3)
    mask = torch.zeros(2, 12, 12, dtype=torch.bool)
    mask[:, :4, :4] = True
    cells = torch.ones(2, 1, 4, 4, dtype=torch.float64, requires_grad=True)
    enlarged(cells, (12, 12), upsample).mul(mask.unsqueeze(1)).sum().backward()
    away = (cells.grad == 0).expand_as(logits)
    assert away.any()
    criterion = sw.loss("RCE", upsample=upsample)
    wanted = criterion(logits, labels, mask)
    spoilt = logits.detach().masked_fill(away, value).requires_grad_()
    found = criterion(spoilt, labels, mask)
    assert torch.equal(found, wanted)
    found.backward()
    assert not spoilt.grad[away].any()
    assert torch.equal(spoilt.grad[~away], torch.autograd.grad(wanted, logits)[0][~away])


def test_ignored_pixels_and_pixels_all_live_at_the_full_size():
    logits, labels, _ = draw((3, 4), (12, 16), 3)
    labels[:, 5:] = 255
    for options in ({}, {"target": [0.5, 0.3, 0.2], "pixels": "all"}):
        found = sw.loss("RCE", ignore_index=255, upsample="linear", **options)(logits, labels)
        wanted = sw.loss("RCE", ignore_index=255, **options)(enlarged(logits, (12, 16), "linear"), labels)
        torch.testing.assert_close(found, wanted)


def test_probability_targets_live_at_the_full_size():
    logits, _, mask = draw((3, 4), (12, 16), 3)
    shares = torch.softmax(torch.randn(2, 3, 12, 16, dtype=torch.float64), 1)
    found = sw.loss("DiceCE", upsample="linear-corners")(logits, shares, mask)
    wanted = sw.loss("DiceCE")(enlarged(logits, (12, 16), "linear-corners"), shares, mask)
    torch.testing.assert_close(found, wanted)


def test_sums_terms_and_compound_losses_take_it():
    logits, labels, mask = draw((3, 4), (12, 16), 3)
    full = enlarged(logits, (12, 16), "linear")
    torch.testing.assert_close(
        sw.region_stats(logits, labels, mask, upsample="linear").sums, sw.region_stats(full, labels, mask).sums
    )
    criterion = sw.Loss(sw.CrossEntropy() + 0.5 * sw.Dice(), upsample="linear")
    for name, value in criterion.terms(logits, labels, mask).items():
        torch.testing.assert_close(value, (sw.CrossEntropy() + 0.5 * sw.Dice()).terms(full, labels, mask)[name])
    assert repr(criterion) == "Loss(CrossEntropy() + 0.5 * Dice(), upsample='linear')"
    both = 2 * criterion + sw.SizeL1()
    assert both.upsample == "linear"
    torch.testing.assert_close(both(logits, labels), (2 * criterion)(logits, labels) + sw.SizeL1()(full, labels))
    with pytest.raises(ValueError, match="upsample='linear' and upsample='linear-corners'"):
        criterion + sw.Loss(sw.Dice(), upsample="linear-corners")


def test_deep_supervision_compares_every_level_with_the_full_target():
    criterion = sw.loss("RCE", upsample="linear")
    outputs = [torch.randn(2, 3, size, size, dtype=torch.float64) for size in (8, 4, 2)]
    labels = torch.randint(0, 3, (2, 16, 16))
    found = sw.DeepSupervision(criterion, weights=[0.5, 0.25, 0.25])(outputs, labels)
    parts = [sw.loss("RCE")(enlarged(one, (16, 16), "linear"), labels) for one in outputs]
    torch.testing.assert_close(found, 0.5 * parts[0] + 0.25 * parts[1] + 0.25 * parts[2])


def test_component_wise_terms_take_small_logits_too():
    logits, labels, mask = draw((4, 4), (16, 16), 3)
    labels = (labels == 1).long() + 2 * (labels == 2).long()
    full = enlarged(logits, (16, 16), "linear")
    for cells in (None, sw.components(labels)):
        found = sw.loss("CC-DiceCE", upsample="linear")(logits, labels, cells=cells)
        wanted = sw.loss("CC-DiceCE")(full, labels, cells=cells)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(*(torch.autograd.grad(one, logits, retain_graph=True)[0] for one in (found, wanted)))
        deep = sw.DeepSupervision(sw.loss("CC-DiceCE", upsample="linear"), weights=[1.0, 0.0])
        torch.testing.assert_close(deep([logits, logits[:, :, ::2, ::2]], labels, cells=cells), wanted)
    cells = sw.components(labels)
    torch.testing.assert_close(
        sw.region_stats(logits, labels, mask, upsample="linear", cells=cells).sums,
        sw.region_stats(full, labels, mask, cells=cells).sums,
    )


def test_tiles_are_interpolated_one_by_one():
    net = nn.Conv2d(1, 2, 2, stride=2).double()
    image, labels = torch.randn(1, 1, 8, 8, dtype=torch.float64), torch.randint(0, 2, (1, 8, 8))
    loss = sw.tiled_backward(sw.loss("CE", upsample="linear"), net, [(image, labels)])
    torch.testing.assert_close(loss, sw.loss("CE")(enlarged(net(image), (8, 8), "linear"), labels))


@pytest.mark.parametrize("upsample", WAYS)
@pytest.mark.parametrize("metric", ["dice", "iou", "size", "argmax"])
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_decide_draws_labels_of_the_full_size(upsample, metric, activation):
    logits, _, mask = draw((5, 6), (20, 17), 3)
    options = {"metric": metric, "activation": activation, "mask": mask}
    found = sw.decide(logits, upsample=upsample, size=(20, 17), **options)
    assert torch.equal(found, sw.decide(enlarged(logits, (20, 17), upsample), **options))
    decision = sw.Decision(metric, activation=activation)
    assert torch.equal(decision(logits, mask, upsample=upsample, size=[20, 17]), found)


def test_it_compiles_without_a_graph_break():
    logits, labels, _ = draw((3, 4), (12, 16), 3, dtype=torch.float32)
    criterion = sw.loss("RCE", upsample="linear")
    compiled = torch.compile(lambda one: criterion(one, labels), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(logits), criterion(logits, labels))
    torch.testing.assert_close(
        torch.autograd.grad(compiled(logits), logits), torch.autograd.grad(criterion(logits, labels), logits)
    )


def test_gradients_per_sample():
    logits, labels, _ = draw((3, 4), (12, 16), 3)
    criterion = sw.loss("RCE", upsample="linear")

    def one(logits, labels):
        return criterion(logits[None], labels[None])

    found = torch.func.vmap(torch.func.grad(one))(logits, labels)
    for place in range(2):
        wanted = torch.autograd.grad(one(logits[place], labels[place]), logits)[0][place]
        torch.testing.assert_close(found[place], wanted)


def test_gradcheck():
    logits, labels, mask = draw((2, 3), (5, 7), 3)
    criterion = sw.loss("LogDiceCE", upsample="linear-corners")
    assert torch.autograd.gradcheck(lambda one: criterion(one, labels, mask), logits)


def test_the_same_bits_twice():
    logits, labels, mask = draw((40, 50), (160, 200), 5, dtype=torch.float32)
    criterion = sw.loss("RCE", upsample="linear")
    first, second = (torch.autograd.grad(criterion(logits, labels, mask), logits)[0] for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"target": torch.zeros(1, 3, 8, dtype=torch.long)},
            r"not below the logits' in any axis, got logits \(1, 2, 4, 4\)",
        ),
        ({"logits": torch.zeros(1, 2, 2, 2, 2, 2)}, "interpolates one to 3 spatial axes"),
        ({"target": torch.zeros(8, 8, dtype=torch.long)}, r"Is the batch axis missing\?"),
        ({"mask": torch.ones(1, 4, 4, dtype=torch.bool)}, r"mask must have shape \(N, \*S\) = \(1, 8, 8\)"),
        ({"target": torch.rand(1, 8, 8)}, "labels must be integers"),
    ],
    ids=["smaller", "axes", "batch", "mask", "float"],
)
def test_wrong_sizes_are_sentences(change, message):
    given = {"logits": torch.zeros(1, 2, 4, 4), "target": torch.zeros(1, 8, 8, dtype=torch.long), "mask": None} | change
    if given["logits"].dim() == 6:
        given["target"] = torch.zeros(1, 4, 4, 4, 4, dtype=torch.long)
    with pytest.raises((ValueError, TypeError), match=message):
        sw.loss("CE", upsample="linear")(given["logits"], given["target"], given["mask"])


def test_wrong_options_are_sentences():
    with pytest.raises(ValueError, match="upsample must be one of 'linear', 'linear-corners', got 'bilinear'"):
        sw.loss("CE", upsample="bilinear")
    logits = torch.zeros(1, 2, 4, 4)
    with pytest.raises(ValueError, match=r"needs size=, the size of the labels, as \(512, 1024\)"):
        sw.decide(logits, upsample="linear")
    with pytest.raises(ValueError, match=r'size=\(8, 8\) goes with upsample="linear"'):
        sw.decide(logits, size=(8, 8))
    with pytest.raises(ValueError, match="upsample interpolates logits"):
        sw.decide(logits.softmax(1), given="probabilities", upsample="linear", size=(8, 8))
    with pytest.raises(
        ValueError, match=r"not below the logits' in any axis, got logits \(1, 2, 4, 4\) for size=\(2, 8\)"
    ):
        sw.decide(logits, upsample="linear", size=(2, 8))


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(("cells", "pixels"), [(1, 1), (1, 7), (4, 4), (3, 12), (5, 13), (7, 8)])
def test_taps_are_the_transpose(cells, pixels, corners):
    axis = Axis(cells, pixels, corners)
    dense = torch.zeros(pixels, cells, dtype=torch.float64)
    dense[torch.arange(pixels), axis.first] += 1 - axis.weight
    dense[torch.arange(pixels), axis.second] += axis.weight
    for first in range(cells):
        piece = slice(first, cells)
        pixel, weight = axis.taps(piece)
        found = torch.zeros(cells - first, pixels, dtype=torch.float64)
        for cell in range(cells - first):
            for place, share in zip(pixel[cell], weight[cell], strict=True):
                start = axis.touching(piece).start
                found[cell, start + place] += share
        torch.testing.assert_close(found, dense.T[piece])


def test_places_cover_every_cell_once():
    enlargement = Enlargement((13, 7), (52, 28), "linear")
    seen = torch.zeros(3, 13, 7)
    for images, cells in enlargement.places(3, 100):
        seen[(images, *cells)] += 1
    assert torch.equal(seen, torch.ones_like(seen))


def test_nothing_at_all():
    criterion = sw.loss("RCE", upsample="linear")
    logits = torch.zeros(0, 2, 4, 4, requires_grad=True)
    criterion(logits, torch.zeros(0, 8, 8, dtype=torch.long)).backward()
    assert logits.grad.shape == (0, 2, 4, 4)
