"""Cross-entropy against torch's own."""

import pytest
import torch
import torch.nn.functional as F
from comparison import (
    IGNORED,
    assert_differs,
    assert_same,
    documented,
    example,
    multilabel_example,
    partly_ignored,
    soft,
    waves,
)

import sizewise as sw

LOGITS, LABELS = example()
PARTLY = partly_ignored(LABELS)
SOFT = soft(LABELS, 4)
WEIGHT = torch.tensor([0.2, 1.0, 2.0, 5.0], dtype=torch.float64)
CHANNELS, PRESENT = multilabel_example()


@pytest.mark.parametrize("scope", ["batch", "global"])  # without a process group, global is batch
def test_pixel_mean(scope):
    criterion = sw.CrossEntropy(scope=scope)
    assert_same("T1", lambda z: criterion(z, LABELS), lambda z: F.cross_entropy(z, LABELS), LOGITS)


@pytest.mark.parametrize("spatial", [(50,), (6, 7), (3, 4, 5)])
@pytest.mark.parametrize("classes", [2, 5, 19])
def test_pixel_mean_in_one_two_and_three_dimensions(spatial, classes):
    logits = waves(2, classes, *spatial)
    labels = torch.randint(0, classes, (2, *spatial), generator=torch.Generator().manual_seed(0))
    assert_same("T1", lambda z: sw.CrossEntropy()(z, labels), lambda z: F.cross_entropy(z, labels), logits)


def test_image_scope_is_the_mean_of_per_image_cross_entropies():
    criterion = sw.Loss(sw.CrossEntropy(scope="image"), ignore_index=IGNORED)

    def per_image(z):
        return torch.stack([F.cross_entropy(z[n : n + 1], PARTLY[n : n + 1], ignore_index=IGNORED) for n in (0, 1)])

    assert_same("T2", lambda z: criterion(z, PARTLY), lambda z: per_image(z).mean(), LOGITS)


@pytest.mark.parametrize("ignore_index", [IGNORED, -100, 2])  # 2 is a class id: its pixels are left out as well
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_class_weights_and_ignored_pixels(weight, ignore_index):
    labels = PARTLY.where(PARTLY != IGNORED, ignore_index)
    criterion = sw.Loss(sw.CrossEntropy(class_weight=weight), ignore_index=ignore_index)
    assert_same(
        "T3",
        lambda z: criterion(z, labels),
        lambda z: F.cross_entropy(z, labels, weight=weight, ignore_index=ignore_index),
        LOGITS,
    )


def test_ignored_by_default_in_torch_is_an_error_here():
    labels = PARTLY.where(PARTLY != IGNORED, -100)
    assert torch.isfinite(F.cross_entropy(LOGITS, labels))
    with pytest.raises(ValueError, match="ignore_index"):
        sw.CrossEntropy()(LOGITS, labels)
    assert documented("T4") == "an error here"


def test_nothing_to_learn_from_is_zero_and_not_nan():
    ignored = torch.full_like(LABELS, IGNORED)
    logits = LOGITS.clone().requires_grad_()
    assert F.cross_entropy(LOGITS, ignored, ignore_index=IGNORED).isnan()
    loss = sw.Loss(sw.CrossEntropy(), ignore_index=IGNORED)(logits, ignored)
    loss.backward()
    assert float(loss.detach()) == 0
    assert float(logits.grad.abs().max()) == 0
    assert documented("T5") == "0, theirs NaN"


def test_probability_targets():
    assert_same("T6", lambda z: sw.CrossEntropy()(z, SOFT), lambda z: F.cross_entropy(z, SOFT), LOGITS)


def test_label_smoothing_is_a_probability_target():
    smoothed = 0.9 * F.one_hot(LABELS, 4).movedim(-1, 1).double() + 0.1 / 4
    assert_same(
        "T7",
        lambda z: sw.CrossEntropy()(z, smoothed),
        lambda z: F.cross_entropy(z, LABELS, label_smoothing=0.1),
        LOGITS,
    )


def test_weighted_probabilities_divide_by_the_weight_that_was_seen():
    def ours(z):
        return sw.CrossEntropy(class_weight=WEIGHT)(z, SOFT)

    def theirs(z):
        return F.cross_entropy(z, SOFT, weight=WEIGHT)

    assert_differs("T8", ours, theirs, LOGITS, by=-0.1310)
    # Σ w nll is the same; torch divides it by the 84 pixels, we divide it by Σ_k w_k T_k.
    seen = (SOFT.sum((0, 2, 3)) * WEIGHT).sum()
    assert float(ours(LOGITS) * seen) == pytest.approx(float(theirs(LOGITS) * LABELS.numel()), rel=1e-12)
    # The reason: one-hot probabilities and labels are the same thing here, and not there.
    one_hot = F.one_hot(LABELS, 4).movedim(-1, 1).double()
    ours_hard = float(sw.CrossEntropy(class_weight=WEIGHT)(LOGITS, LABELS))
    assert float(sw.CrossEntropy(class_weight=WEIGHT)(LOGITS, one_hot)) == pytest.approx(ours_hard, rel=1e-12)
    assert ours_hard == pytest.approx(float(F.cross_entropy(LOGITS, LABELS, weight=WEIGHT)), rel=1e-12)
    assert float(F.cross_entropy(LOGITS, one_hot, weight=WEIGHT)) != pytest.approx(ours_hard, rel=0.01)


@pytest.mark.parametrize("target", [PRESENT, PRESENT.bool(), 0.1 + 0.7 * PRESENT.double()], ids=["int", "bool", "soft"])
def test_multilabel_is_binary_cross_entropy(target):
    criterion = sw.Loss(sw.CrossEntropy(), activation="sigmoid")
    assert_same(
        "T9",
        lambda z: criterion(z, target),
        lambda z: F.binary_cross_entropy_with_logits(z, target.double()),
        CHANNELS,
    )


def test_positive_weights_divide_by_the_weight_that_was_seen():
    positive = torch.tensor([1.0, 3.0, 20.0], dtype=torch.float64)
    weight = torch.stack((torch.ones(3, dtype=torch.float64), positive), 1)  # (C, 2): background, foreground
    criterion = sw.Loss(sw.CrossEntropy(class_weight=weight), activation="sigmoid")

    def theirs(z):
        return F.binary_cross_entropy_with_logits(z, PRESENT.double(), pos_weight=positive.view(3, 1, 1))

    assert_differs("T10", lambda z: criterion(z, PRESENT), theirs, CHANNELS, by=-0.2203)
    # Per channel: Σ w nll over the 84 pixels there, over 84 + (w − 1) · positives here.
    per_channel = F.binary_cross_entropy_with_logits(
        CHANNELS, PRESENT.double(), pos_weight=positive.view(3, 1, 1), reduction="none"
    ).sum((0, 2, 3))
    seen = 84 + (positive - 1) * PRESENT.sum((0, 2, 3))
    assert float(criterion(CHANNELS, PRESENT)) == pytest.approx(float((per_channel / seen).mean()), rel=1e-12)
