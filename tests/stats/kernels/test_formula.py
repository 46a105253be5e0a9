"""The formula as one kernel, in the interpreter: what it gives against the torch operations it was written from."""

import pytest
import torch
from kernel_device import DEVICE
from sampling import grid, sample

import sizewise as sw
from sizewise.stats.formula.kernel import MOST_SUMS, FormulaKernel
from sizewise.stats.formula.record import value_and_coefficients
from sizewise.stats.formula.values import Unsupported
from sizewise.stats.prepared import Prepared

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter

TERMS = {
    "CrossEntropy": (),
    "BalancedCrossEntropy": ("class_reduction",),
    "Focal": (),
    "Dice": ("absent", "class_reduction"),
    "LogDice": ("absent", "class_reduction"),
    "Tversky": ("absent", "class_reduction"),
    "Jaccard": ("absent", "class_reduction"),
    "GeneralizedDice": (),
    "DiceBias": ("absent", "class_reduction"),
    "SizeL1": ("absent", "class_reduction"),
    "SizeKL": ("absent", "class_reduction"),
}
OPTIONS = {
    "scope": ("image", "batch"),
    "classes": ("all", "foreground", (1, 2), (2, 0, 1)),
    "class_weight": (None, "one each"),
    "absent": ("include", "skip"),
    "class_reduction": ("mean", "sum"),
    "sigmoid": (False, True),
}
CASES = [(name, options) for name in TERMS for options in grid(OPTIONS)]


def sums_of(criterion, images, classes, dtype=torch.float32):
    """Sums as a pass would give them: one class is nowhere, and of three images or more one is empty."""
    fields = Prepared(criterion).fields
    regions = (2,) if criterion.activation == "sigmoid" else ()
    random = torch.Generator().manual_seed(10 * images + classes)
    sums = 50 * torch.rand(len(fields), images, classes, *regions, generator=random, dtype=torch.float64)
    sums[0] = sums[0].round()
    sums[0, :, -1] = 0
    sums[1] = sums[1].amax().round() + 1
    if images > 2:
        sums[:, 1] = 0
    return sums.to(DEVICE, dtype)


def kernel_of(criterion, sums):
    return FormulaKernel(
        criterion.from_stats, Prepared(criterion).fields, sums.shape[2], criterion.activation == "sigmoid", sums
    )


def run(kernel, sums):
    value, coefficients = torch.empty((), dtype=sums.dtype, device=DEVICE), torch.empty_like(sums)
    kernel.launch(sums.shape[1])(sums, value, coefficients, *kernel.inputs)
    return value, coefficients


def agree(criterion, sums, kernel=None):
    value, coefficients = run(kernel or kernel_of(criterion, sums), sums)
    exact = value_and_coefficients(criterion.from_stats, Prepared(criterion).fields, sums.double())
    torch.testing.assert_close(value.double(), exact[0], rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(coefficients.double(), exact[1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("name", sw.loss_names())
def test_every_named_loss_becomes_a_kernel_that_is_as_exact_as_float64(name, activation):
    criterion = sw.loss(name, activation=activation).to(DEVICE)
    for images, classes in sample([(1, 7), (2, 2), (3, 3), (5, 4), (8, 19)], 2, seed=len(name)):
        agree(criterion, sums_of(criterion, images, classes))


@pytest.mark.parametrize(("name", "options"), sample(CASES, 60, seed=2), ids=str)
def test_options_of_terms(name, options):
    sigmoid = options["sigmoid"]
    chosen = {key: options[key] for key in ("scope", "classes", *TERMS[name])}
    if name == "GeneralizedDice":
        chosen = {"scope": options["scope"], "classes": options["classes"]}
    if options["class_weight"] and name != "GeneralizedDice":
        chosen["class_weight"] = [[0.5, 1.0], [2.0, 0.25], [1.5, 3.0]] if sigmoid else [0.5, 1.0, 2.0]
    term = getattr(sw, name)(**chosen)
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


def test_one_kernel_serves_every_number_of_images():
    criterion = sw.loss("RCE").to(DEVICE)
    kernel = kernel_of(criterion, sums_of(criterion, 2, 3))
    for images in (1, 2, 3, 4, 17):
        agree(criterion, sums_of(criterion, images, 3), kernel)


def test_float64_sums_keep_their_digits():
    criterion = sw.loss("LogDiceCE").to(DEVICE)
    sums = sums_of(criterion, 3, 4, torch.float64)
    value, coefficients = run(kernel_of(criterion, sums), sums)
    exact = value_and_coefficients(criterion.from_stats, Prepared(criterion).fields, sums)
    torch.testing.assert_close(value, exact[0], rtol=1e-14, atol=0)
    torch.testing.assert_close(coefficients, exact[1], rtol=1e-13, atol=1e-18)


def test_weights_that_change_in_place_are_seen():
    criterion = sw.loss("RCE").to(DEVICE)
    sums = sums_of(criterion, 2, 3)
    kernel = kernel_of(criterion, sums)
    before = run(kernel, sums)[0]
    criterion.weights["SizeL1"] = 0.0
    after = run(kernel, sums)[0]
    assert after < before
    agree(criterion, sums, kernel)


def test_sums_of_a_bad_target_make_the_loss_nan():
    for name in sw.loss_names():
        criterion = sw.loss(name).to(DEVICE)
        sums = torch.full_like(sums_of(criterion, 2, 3), float("nan"))
        sums[:2] = float("inf")  # numbers of pixels: a NaN would look like an image without any
        assert run(kernel_of(criterion, sums), sums)[0].isnan(), name


def test_what_cannot_be_written_is_left_to_torch():
    per_image = sw.SizeL1(target=torch.full((4, 3), 1 / 3)).to(DEVICE)
    with pytest.raises(Unsupported):
        kernel_of(per_image, sums_of(per_image, 4, 3))
    many = sw.loss("RCE").to(DEVICE)
    kernel = kernel_of(many, sums_of(many, 2, 3))
    assert kernel.takes(MOST_SUMS // 4)
    assert not kernel.takes(MOST_SUMS)


def test_a_choice_of_classes_is_never_taken_for_the_images():
    # 67 images are recorded for 100 classes; 67 chosen classes could be mistaken for them
    with pytest.raises(Unsupported, match="67 tensors stacked"):
        kernel_of(criterion := sw.Dice(classes=tuple(range(67))).to(DEVICE), sums_of(criterion, 2, 100))
    agree(criterion := sw.Dice(classes=tuple(range(66))).to(DEVICE), sums_of(criterion, 2, 100))


def test_a_criterion_with_such_a_formula_still_gives_its_loss(monkeypatch):
    from sizewise import criterion as criterion_module

    monkeypatch.setattr(criterion_module, "steps_on_gpu", lambda logits: True)
    logits, target = torch.randn(2, 3, 4, 4, device=DEVICE), torch.randint(0, 3, (2, 4, 4), device=DEVICE)
    per_image = sw.SizeL1(target=torch.full((2, 3), 1 / 3)).to(DEVICE)
    loss = per_image(logits, target)
    torch.testing.assert_close(loss, per_image.total(per_image.terms(logits, target)))
