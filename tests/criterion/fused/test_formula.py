"""The formula as one kernel, in the interpreter: what it gives against the torch operations it was written from."""

import pytest
import torch
from formula_cases import agree, kernel_of, run
from kernel_device import DEVICE
from sampling import grid, sample

import sizewise as sw
from sizewise import terms
from sizewise.criterion.fused.axes import Unsupported
from sizewise.criterion.fused.kernel import MOST_SUMS, FormulaKernel

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter

# Every term there is; a new one is tested without being listed. Bounds have tests of their own below.
TERMS = [name for name in terms.__all__ if not name.startswith(("SizeBounds", "SizeBarrier"))]
OPTIONS = {
    "scope": ("image", "batch"),
    "classes": ("all", "foreground", (1, 2), (2, 0, 1)),
    "class_weight": (None, "one each"),
    "absent": ("include", "skip"),
    "class_reduction": ("mean", "sum"),
    "sigmoid": (False, True),
}
WITHOUT_CELLS = [name for name in sw.loss_names() if not sw.loss(name).cell_fields]  # those: test_cell_formula
CASES = [(name, options) for name in TERMS for options in grid(OPTIONS)]


def sums_of(criterion, images, classes, dtype=torch.float32):
    """Sums as a pass would give them: one class is nowhere, and of three images or more one is empty."""
    fields = criterion.snapshot().fields
    regions = (2,) if criterion.activation == "sigmoid" else ()
    random = torch.Generator().manual_seed(10 * images + classes)
    sums = 50 * torch.rand(len(fields), images, classes, *regions, generator=random, dtype=torch.float64)
    sums[0] = sums[0].round()
    sums[0, :, -1] = 0
    sums[1] = sums[1].amax().round() + 1
    if images > 2:
        sums[:, 1] = 0
    return sums.to(DEVICE, dtype)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("name", WITHOUT_CELLS)
def test_every_named_loss_becomes_a_kernel_that_is_as_exact_as_float64(name, activation):
    criterion = sw.loss(name, activation=activation).to(DEVICE)
    for images, classes in sample([(1, 7), (2, 2), (3, 3), (5, 4), (8, 19)], 2, seed=len(name)):
        agree(criterion, sums_of(criterion, images, classes))


@pytest.mark.parametrize("name", WITHOUT_CELLS)
def test_the_comparison_before_the_first_step_finds_nothing_wrong_with_many_classes(name):
    """Random overlaps larger than their regions made JaccardCE with 118 classes run as single torch operations."""
    criterion = sw.loss(name).to(DEVICE)
    fields = criterion.snapshot().fields
    for classes in (118, 150):
        like = torch.zeros(len(fields), 8, classes, device=DEVICE)
        kernel = FormulaKernel(criterion, fields, like, one_image=False, has_truth=False)
        assert kernel.agrees_with(criterion, fields, like, False)


@pytest.mark.parametrize(("name", "options"), sample(CASES, 40, seed=2), ids=str)
def test_options_of_terms(name, options):
    sigmoid = options["sigmoid"]
    kind = getattr(sw, name)
    chosen = {key: value for key, value in options.items() if key in kind.option_names()}
    if options["class_weight"]:
        chosen["class_weight"] = [[0.5, 1.0], [2.0, 0.25], [1.5, 3.0]] if sigmoid else [0.5, 1.0, 2.0]
    term = kind(**chosen)
    criterion = sw.Loss(term, activation="sigmoid" if sigmoid else "softmax").to(DEVICE)
    agree(criterion, sums_of(criterion, 4, 3))


@pytest.mark.parametrize("scope", ["image", "batch"])
@pytest.mark.parametrize(
    "term",
    [
        lambda scope: sw.SizeL1(target=[0.2, 0.3, 0.5], scope=scope),
        lambda scope: sw.SizeKL(target=[0.2, 0.3, 0.5], scope=scope, pixels="all"),
        lambda scope: sw.SizeBounds(0.1, 0.4, scope=scope),
        lambda scope: sw.SizeBarrier(0.1, 0.9, scope=scope),
    ],
)
def test_known_proportions_and_bounds(term, scope):
    criterion = sw.Loss(term(scope)).to(DEVICE)
    agree(criterion, sums_of(criterion, 4, 3))


def test_one_kernel_serves_every_number_of_images_but_one():
    criterion = sw.loss("RCE").to(DEVICE)
    kernel = kernel_of(criterion, sums_of(criterion, 2, 3))
    for images in (2, 3, 4, 17):
        agree(criterion, sums_of(criterion, images, 3), kernel)
    alone = kernel_of(criterion, sums_of(criterion, 1, 3))
    agree(criterion, sums_of(criterion, 1, 3), alone)
    assert alone.source != kernel.source


def test_the_source_is_the_same_for_any_number_of_classes():
    criterion = sw.loss("DiceCE", classes="foreground").to(DEVICE)
    assert len({kernel_of(criterion, sums_of(criterion, 2, classes)).source for classes in (3, 4, 19)}) == 1


def test_float64_sums_keep_their_digits():
    criterion = sw.loss("LogDiceCE").to(DEVICE)
    agree(criterion, sums_of(criterion, 3, 4, torch.float64), rtol=1e-13, atol=1e-18)


def test_weights_that_change_in_place_are_seen():
    criterion = sw.loss("RCE").to(DEVICE)
    sums = sums_of(criterion, 2, 3)
    kernel = kernel_of(criterion, sums)
    before = run(kernel, sums)[1]
    criterion.weights["SizeL1"] = 0.0
    factors, after, *_ = run(kernel, sums)
    assert after < before
    assert factors.tolist() == [1, 0]
    agree(criterion, sums, kernel)


def test_size_targets_from_another_resolution_and_a_scale():
    for name in ("RCE", "RCE-KL", "DiceCE"):
        criterion = sw.loss(name, absent="skip").to(DEVICE) if name == "RCE" else sw.loss(name).to(DEVICE)
        sums = sums_of(criterion, 3, 4)
        truth = sums_of(criterion, 3, 4) * 3 + 7
        agree(criterion, sums, truth=truth, scale=0.375)
        changed = float(
            run(kernel_of(criterion, sums, truth), sums, truth)[1] - run(kernel_of(criterion, sums), sums)[1]
        )
        assert (changed != 0) == name.startswith("RCE")


def test_sums_of_a_bad_target_make_every_value_nan():
    for name in WITHOUT_CELLS:
        criterion = sw.loss(name).to(DEVICE)
        sums = torch.full_like(sums_of(criterion, 2, 3), float("nan"))
        sums[:2] = float("inf")  # numbers of pixels: a NaN would look like an image without any
        _, total, values, _ = run(kernel_of(criterion, sums), sums)
        assert total.isnan(), name
        assert values.isnan().all(), name


class PerImage(sw.Dice):
    """A user's term that divides by the number of images itself."""

    def value(self, stats):
        return (1 - stats.overlap / stats.count.clamp(min=1)).sum() / stats.count.shape[0]


class Branching(sw.Dice):
    """A user's term that asks for the number of images."""

    def value(self, stats):
        return super().value(stats) * (2 if stats.count.shape[0] > 3 else 1)


class Looking(sw.Dice):
    """A user's term that looks at values."""

    def value(self, stats):
        return super().value(stats) * (2 if stats.count.sum() > 3 else 1)


def test_a_users_term_becomes_a_kernel_unless_it_asks_for_what_only_a_call_knows():
    criterion = sw.Loss(sw.CrossEntropy() + PerImage()).to(DEVICE)
    kernel = kernel_of(criterion, sums_of(criterion, 2, 3))
    for images in (2, 5):
        agree(criterion, sums_of(criterion, images, 3), kernel)
    for kind, why in ((Branching, "depends on the number of images"), (Looking, "DataDependent|GuardOn")):
        with pytest.raises(Unsupported, match=why):
            kernel_of(criterion := kind().to(DEVICE), sums_of(criterion, 2, 3))


def test_what_cannot_be_written_is_left_to_torch():
    per_image = sw.SizeL1(target=torch.full((4, 3), 1 / 3)).to(DEVICE)
    with pytest.raises(Unsupported, match="one row per image"):
        kernel_of(per_image, sums_of(per_image, 4, 3))
    many = sw.loss("RCE").to(DEVICE)
    kernel = kernel_of(many, sums_of(many, 2, 3))
    assert kernel.takes(MOST_SUMS // 4)
    assert not kernel.takes(MOST_SUMS)


def test_a_choice_of_as_many_classes_as_there_are_images():
    for images, chosen in ((5, 5), (2, 2), (3, 67)):  # the graph is drawn with five images
        criterion = sw.Dice(classes=tuple(range(1, chosen + 1))).to(DEVICE)
        agree(criterion, sums_of(criterion, images, 70))


def test_nothing_is_imported_to_find_the_line_that_a_symbol_comes_from(monkeypatch):
    """Torch imports ``torch.export`` and inductor for that, which took half of the first call."""
    from torch.fx.experimental import symbolic_shapes

    def fail():
        raise AssertionError("torch looks for a line of the user's")

    monkeypatch.setattr(symbolic_shapes, "uninteresting_files", fail)
    criterion = sw.loss("RCE").to(DEVICE)
    assert kernel_of(criterion, sums_of(criterion, 2, 3)).planes
