"""Terms per component: by hand, against the slow oracle, and what must not change them."""

import oracle
import oracle_components
import pytest
import torch
from cases import ACTIVATIONS, KINDS, SHAPES, batch
from torch.autograd import gradcheck

import sizewise as sw

# Options that a term needs, or that make its definition on one class plain.
OPTIONS = {"SizeBounds": {"lower": 0.2, "upper": 0.4}, "SizeBarrier": {"lower": 0.2, "upper": 0.4}}


def test_two_components_by_hand():
    # p_1 = 1/4 everywhere. Two components in six pixels: cells of 4 and 2 (the tie at pixel 3 goes to the first)...
    odds = torch.log(torch.tensor(3.0, dtype=torch.float64))
    logits = torch.zeros(1, 2, 6, dtype=torch.float64)
    logits[:, 0] = odds
    target = torch.tensor([[0, 1, 1, 0, 0, 1]])
    # cells: pixels 0 to 3 (pixel 3 is 1 from the first, 2 from the second), and 4, 5.
    first = 1 - (2 * 2 / 4 + 1) / (4 / 4 + 2 + 1)
    second = 1 - (2 * 1 / 4 + 1) / (2 / 4 + 1 + 1)
    assert sw.loss("CC-Dice")(logits, target).item() == pytest.approx((first + second) / 2, rel=1e-12)
    # cross-entropy of class 1 is log 4 at each of its pixels, so its mean over any component is
    assert sw.per_component(sw.CrossEntropy(classes=[1]))(logits, target).item() == pytest.approx(
        2 * float(torch.log(torch.tensor(2.0, dtype=torch.float64))), rel=1e-12
    )


def test_classes_then_images_by_hand():
    # Uniform over three classes. Image 0: class 1 has two components of one pixel, class 2 one; image 1 has none.
    logits, target = torch.zeros(2, 3, 4, dtype=torch.float64), torch.tensor([[1, 0, 2, 1], [0, 0, 0, 0]])
    # class 1: cells {0, 1} and {2, 3} (pixel 1 is 1 from the first, 2 from the second)
    per_cell = 1 - (2 / 3 + 1) / (2 / 3 + 1 + 1)
    whole = 1 - (2 / 3 + 1) / (4 / 3 + 1 + 1)
    assert sw.loss("CC-Dice")(logits, target).item() == pytest.approx((per_cell + whole) / 2, rel=1e-12)
    weighted = sw.loss("CC-Dice", class_weight=[1.0, 3.0, 1.0])(logits, target).item()
    assert weighted == pytest.approx((3 * per_cell + whole) / 4, rel=1e-12)
    assert sw.loss("CC-Dice", class_reduction="sum")(logits, target).item() == pytest.approx(per_cell + whole)
    assert sw.loss("CC-Dice", classes=[2])(logits, target).item() == pytest.approx(whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("term", oracle.TERMS)
def test_every_term_equals_the_oracle(term, activation, kind):
    shapes = list(SHAPES)
    shape = shapes[(oracle.TERMS.index(term) + KINDS.index(kind)) % len(shapes)]
    one = batch(activation, kind, shape)
    logits, target, mask = one.tensors()
    options = OPTIONS.get(term, {})
    classes = range(1 if activation == "softmax" else 0, logits.shape[1])
    wanted_options = options | ({"absent": "include"} if "absent" in getattr(sw, term).option_names() else {})
    for scope in ("image", "batch"):
        made = getattr(sw, term)(**options, classes="foreground", scope=scope)
        got = one.criterion(sw.per_component(made))(logits, target, mask)
        wanted = {"classes": classes, "scope": scope, "reduction": getattr(made, "class_reduction", "mean")}
        want = oracle_components.per_component(term, *one.arguments(), **wanted, **wanted_options)
        torch.testing.assert_close(got, torch.tensor(want, dtype=torch.float64), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_named_losses_equal_the_oracle(activation, shape):
    one = batch(activation, "ignored and masked labels", shape)
    logits, target, mask = one.tensors()
    classes = range(1 if activation == "softmax" else 0, logits.shape[1])
    cc = oracle_components.per_component("Dice", *one.arguments(), classes=classes)
    whole = [oracle.term(name, *one.arguments()) for name in ("CrossEntropy", "Dice")]
    for name, want in (("CC-Dice", cc), ("CC-DiceCE", sum(whole) + cc)):
        criterion = sw.loss(name, ignore_index=one.ignore_index, activation=activation)
        torch.testing.assert_close(criterion(logits, target, mask).item(), float(want), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["CC-Dice", "CC-DiceCE"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients(activation, kind, name):
    torch.manual_seed(0)
    one = batch(activation, kind, "2d", scale=0.4)
    logits, target, mask = one.tensors()
    criterion = sw.loss(name, ignore_index=one.ignore_index, activation=activation)
    assert gradcheck(
        lambda z: criterion(z, target, mask), (logits.requires_grad_(),), atol=1e-7, rtol=1e-5, fast_mode=True
    )


def blobs(images=2, classes=3, size=24, seed=0):
    draw = torch.Generator().manual_seed(seed)
    labels = torch.zeros(images, size, size, dtype=torch.long)
    for n in range(images):
        for _ in range(6):
            row, column, side, k = (
                int(torch.randint(0, high, (), generator=draw)) for high in (size, size, 5, classes)
            )
            labels[n, row : row + side + 1, column : column + side + 1] = k
    return torch.randn(images, classes, size, size, generator=draw, dtype=torch.float64), labels


def test_one_component_is_the_plain_term():
    logits, target = blobs()
    target = torch.zeros_like(target)
    target[:, 4:9, 3:7] = 2
    for term in (sw.Dice(classes=[2]), sw.LogDice(classes=[2]), sw.Jaccard(classes=[2]), sw.SizeL1(classes=[2])):
        plain, wrapped = term(logits, target), sw.per_component(term)(logits, target)
        torch.testing.assert_close(wrapped, plain, rtol=1e-12, atol=0)


def test_the_numbers_of_components_do_not_matter():
    logits, target = blobs()
    criterion, cells = sw.loss("CC-DiceCE"), sw.components(target)
    assert cells.most > 2
    other = torch.cat((torch.zeros(1, dtype=torch.long), torch.randperm(cells.most) + 1))
    renumbered = sw.Cells(other[cells.maps.long()], cells.classes)
    torch.testing.assert_close(criterion(logits, target, cells=renumbered), criterion(logits, target))
    roomy = sw.Cells(cells.maps, cells.classes, 100)  # numbers that no cell has change nothing
    torch.testing.assert_close(criterion(logits, target, cells=roomy), criterion(logits, target))


def test_given_cells_are_those_that_are_found():
    logits, target = blobs()
    for criterion in (sw.loss("CC-DiceCE"), sw.loss("CC-Dice")):
        runs = []
        for cells in (None, sw.components(target)):
            leaf = logits.clone().requires_grad_()
            value = criterion(leaf, target, cells=cells)
            value.backward()
            runs.append((value.detach(), leaf.grad))
        assert torch.equal(runs[0][0], runs[1][0])
        assert torch.equal(runs[0][1], runs[1][1])
    terms = sw.loss("CC-DiceCE").terms(logits, target, cells=sw.components(target))
    assert list(terms) == ["CrossEntropy", "Dice", "CC-Dice"]
    assert sw.loss("DiceCE")(logits, target, cells=sw.components(target)) == sw.loss("DiceCE")(logits, target)


def test_statistics_give_the_same():
    logits, target = blobs()
    criterion = sw.loss("CC-DiceCE", weight=0.5)
    leaves = [logits.clone().requires_grad_() for _ in range(2)]
    criterion(leaves[0], target).backward()
    stats = criterion.stats(leaves[1], target)
    value = criterion.from_stats(stats)
    value.backward()
    torch.testing.assert_close(value, criterion(logits, target))
    torch.testing.assert_close(leaves[0].grad, leaves[1].grad)
    with pytest.raises(ValueError, match=r"CC-Dice: these statistics hold no sums of cells"):
        criterion.from_stats(criterion.image_stats(logits, target))


@pytest.mark.parametrize("name", ["CC-Dice", "CC-DiceCE"])
def test_images_without_a_component(name):
    logits, target = blobs()
    empty = torch.zeros_like(target)
    leaf = logits.clone().requires_grad_()
    value = sw.loss("CC-Dice")(leaf, empty)
    value.backward()
    assert value == 0
    assert not leaf.grad.any()
    # an image without one enters no mean
    half = torch.cat((target[:1], empty[:1]))
    torch.testing.assert_close(sw.loss("CC-Dice")(logits, half), sw.loss("CC-Dice")(logits[:1], target[:1]))
    none = sw.loss(name)(logits[:0].requires_grad_(), target[:0])
    assert none == 0
    every = sw.loss(name, ignore_index=7)(logits, torch.full_like(target, 7))
    assert every == 0


def test_thousands_of_components_count_the_same():
    target = torch.zeros(1, 150, 150, dtype=torch.long)
    target[:, ::3, ::3] = 1
    cells = sw.components(target)
    assert cells.most == 2500
    sure = torch.zeros(1, 2, 150, 150, dtype=torch.float64)
    sure[:, 1] = torch.where(target == 1, 40.0, -40.0)
    assert sw.loss("CC-Dice")(sure, target, cells=cells).item() == pytest.approx(0, abs=1e-12)
    missed = sure.clone()
    missed[:, 1, 0, 0] = -40  # one of 2500 is missed: 1 − ε / (0 + 1 + ε) = ½ for it
    assert sw.loss("CC-Dice")(missed, target, cells=cells).item() == pytest.approx(0.5 / 2500)


def test_a_component_outside_a_crop_has_no_value():
    logits, target = blobs()
    cells = sw.components(target)
    left, maps = target[:, :, :12], cells.maps[:, :, :, :12]
    value = sw.loss("CC-Dice")(logits[..., :12], left, cells=sw.Cells(maps, cells.classes, cells.most))
    assert value.isfinite()
    gone = torch.where(left == 0, 0, left)
    assert value == sw.loss("CC-Dice")(logits[..., :12], gone, cells=sw.Cells(maps, cells.classes))


def test_logits_that_do_not_count_never_enter():
    logits, target = blobs()
    target[:, :3] = 255
    logits[:, :, :3] = float("nan")
    leaf = logits.requires_grad_()
    value = sw.loss("CC-DiceCE", ignore_index=255)(leaf, target)
    value.backward()
    assert value.isfinite()
    assert not leaf.grad[:, :, :3].any()
    assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_low_precision_and_huge_logits(dtype):
    logits, target = blobs()
    leaf = (1e4 * logits.sign()).to(dtype).requires_grad_()
    value = sw.loss("CC-DiceCE")(leaf, target)
    value.backward()
    assert value.dtype == torch.float32
    assert value.isfinite()
    assert leaf.grad.isfinite().all()


def test_sums_and_formulas():
    assert repr(sw.loss("CC-DiceCE")) == ("Loss(CrossEntropy() + Dice() + per_component(Dice(classes='foreground')))")
    both = sw.per_component(sw.CrossEntropy() + 0.5 * sw.Dice())
    assert repr(both) == "Loss(per_component(CrossEntropy()) + 0.5 * per_component(Dice()))"
    written = sw.loss("CE + 0.5 * per_component(Tversky(alpha=0.3, classes='foreground')) + CC-Dice")
    assert list(written.weights.names) == ["CrossEntropy", "CC-Tversky", "CC-Dice"]
    written.weights["CC-Dice"] = 0.25
    logits, target = blobs()
    assert written(logits, target).isfinite()
    with pytest.raises(ValueError, match=r"where one term in the brackets, as per_component\(Dice\(smooth=0.5\)\),"):
        sw.loss("CE + per_component(Dice, CE)")


def test_what_cannot_be_per_component_is_said():
    with pytest.raises(ValueError, match=r'per_component: Dice has scope="global"'):
        sw.per_component(sw.Dice(scope="global"))
    with pytest.raises(ValueError, match=r'per_component: SizeBounds has pixels="all"'):
        sw.per_component(sw.SizeBounds(0.1, 0.2, pixels="all"))
    with pytest.raises(TypeError, match=r"per_component: term must be a term"):
        sw.per_component(sw.per_component(sw.Dice()))
    with pytest.raises(TypeError, match=r"per_component: wanted a term, as Dice\(\), or a sum of terms, got int"):
        sw.per_component(3)
    logits, target = blobs()
    with pytest.raises(RuntimeError, match=r"do not run under the transforms of torch.func"):
        torch.func.grad(lambda z: sw.loss("CC-Dice")(z, target))(logits)
    with pytest.raises(ValueError, match=r"tiled_backward: CC-Dice has component-wise terms"):
        sw.tiled_backward(sw.loss("CC-Dice"), torch.nn.Identity(), [(logits, target)])


def test_deep_supervision_samples_the_cells_of_the_full_resolution():
    logits, target = blobs()
    small = torch.nn.functional.avg_pool2d(logits, 2).requires_grad_()
    cells = sw.components(target)
    criterion = sw.DeepSupervision(sw.loss("CC-DiceCE"), weights=[2, 1])
    value = criterion([logits, small], target)
    value.backward()
    assert small.grad.abs().sum() > 0
    assert value == criterion([logits, small], target, cells=cells)
    down = target[:, 1::2, 1::2]
    second = sw.loss("CC-DiceCE")(small, down, cells=sw.Cells(cells.maps[:, :, 1::2, 1::2], cells.classes))
    torch.testing.assert_close(value, (2 * sw.loss("CC-DiceCE")(logits, target) + second) / 3)


def test_callbacks_see_the_sums_of_cells():
    logits, target = blobs()
    criterion, seen = sw.loss("CC-DiceCE"), []
    with criterion.watch(lambda stats, terms: seen.append((stats, terms))):
        criterion(logits.requires_grad_(), target).backward()
    (stats, terms), cells = seen[0], sw.components(target)
    assert stats.cells.count.shape == (2 * cells.most, 3)
    torch.testing.assert_close(criterion.from_stats(stats), criterion.total(terms))


def test_compiled_with_given_cells():
    logits, target = blobs()
    cells = sw.components(target)
    criterion = sw.loss("CC-DiceCE")

    @torch.compile(fullgraph=True, backend="aot_eager")
    def step(logits, maps):
        return criterion(logits, target, cells=sw.Cells(maps, cells.classes, cells.most))

    leaf = logits.clone().requires_grad_()
    value = step(leaf, cells.maps)
    value.backward()
    plain = logits.clone().requires_grad_()
    criterion(plain, target).backward()
    torch.testing.assert_close(value, criterion(logits, target))
    torch.testing.assert_close(leaf.grad, plain.grad)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch's own, when a graph begins with sums
def test_compiled_without_cells_the_graph_ends_where_they_are_found():
    logits, target = blobs()
    criterion = sw.loss("CC-DiceCE")
    compiled = torch.compile(criterion, backend="aot_eager")
    for labels in (target, target.flip(-1)):  # other components with the same shapes
        leaf, plain = logits.clone().requires_grad_(), logits.clone().requires_grad_()
        value, wanted = compiled(leaf, labels), criterion(plain, labels)
        value.backward()
        wanted.backward()
        torch.testing.assert_close(value, wanted)
        torch.testing.assert_close(leaf.grad, plain.grad)


def test_a_sum_keeps_how_it_reads_its_input():
    logits, target = blobs()
    target[:, 0] = 255
    small = logits[:, :, ::2, ::2].contiguous()
    loss = sw.Loss(sw.Dice(classes="foreground"), ignore_index=255, upsample="linear")
    wanted = sw.loss("CC-Dice", ignore_index=255, upsample="linear")
    assert repr(sw.per_component(loss)) == repr(wanted)
    assert torch.equal(sw.per_component(loss)(small, target), wanted(small, target))
