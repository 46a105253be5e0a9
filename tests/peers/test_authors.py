"""The paper's losses against the formulas of the code that its authors released."""

import math

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
)
from seglossbias_formulas import channel_proportions, class_proportions, cross_entropy, dice, dice_bias, focal, kl, l1

import sizewise as sw

LOGITS, LABELS = example()
PARTLY = partly_ignored(LABELS)
CHANNELS, PRESENT = multilabel_example()
BINARY, MASK = CHANNELS[:, :1], PRESENT[:, :1]


@pytest.mark.parametrize("labels", [LABELS, PARTLY], ids=["all valid", "ignored pixels"])
def test_ce_l1(labels):
    """Both are means over the classes; EPS moves a proportion by less than 1e-10."""
    ours = sw.loss("RCE-L1", ignore_index=IGNORED)
    assert_same(
        "A1",
        lambda z: ours(z, labels),
        lambda z: cross_entropy(z, labels) + l1(*class_proportions(z, labels)),
        LOGITS,
    )


def test_l1_is_a_sum_in_the_papers_equation():
    ours = sw.SizeL1(class_reduction="sum")
    assert_differs("A2", lambda z: ours(z, LABELS), lambda z: l1(*class_proportions(z, LABELS)), LOGITS, by=0.3879)
    ratio = float(ours(LOGITS, LABELS)) / float(l1(*class_proportions(LOGITS, LABELS)))
    assert ratio == pytest.approx(4, rel=1e-8)  # K


@pytest.mark.parametrize(("logits", "labels"), [(BINARY, MASK), (CHANNELS, PRESENT)], ids=["binary", "multi-label"])
def test_l1_of_sigmoid_channels_counts_the_foreground_once(logits, labels):
    """|p̂ − ŷ| is the same for both regions of a channel, so their mean is the foreground's alone."""
    ours = sw.Loss(sw.SizeL1(), activation="sigmoid")
    assert_same("A3", lambda z: ours(z, labels), lambda z: l1(*channel_proportions(z, labels)), logits)
    double = sw.Loss(sw.SizeL1(class_reduction="sum"), activation="sigmoid")
    assert float(double(logits, labels)) == pytest.approx(2 * float(ours(logits, labels)), rel=1e-12)


@pytest.mark.parametrize("labels", [LABELS, PARTLY], ids=["all valid", "ignored pixels"])
def test_ce_kl(labels):
    """Both sum over the classes. An absent class has ŷ = EPS / |Ω| there, worth 1e-11; here 0 log 0 = 0."""
    ours = sw.loss("RCE-KL", weight=1.0, ignore_index=IGNORED)
    assert_same(
        "A4",
        lambda z: ours(z, labels),
        lambda z: cross_entropy(z, labels) + kl(*class_proportions(z, labels)),
        LOGITS,
    )


def test_binary_kl_has_both_regions():
    def theirs(z):
        predicted, true = channel_proportions(z, MASK)
        return kl(predicted, true) + kl(1 - predicted, 1 - true)

    ours = sw.Loss(sw.SizeKL(), activation="sigmoid")
    assert_same("A5", lambda z: ours(z, MASK), theirs, BINARY)


def test_binary_kl_of_a_full_mask_is_not_nan():
    full = torch.ones_like(MASK)
    predicted, true = channel_proportions(BINARY, full)
    assert kl(1 - predicted, 1 - true).isnan()  # 0 · log(0)
    logits = BINARY.clone().requires_grad_()
    loss = sw.Loss(sw.SizeKL(), activation="sigmoid")(logits, full)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(-float(predicted.log().mean()), rel=1e-8)  # 1 · (log 1 − log p̂)
    assert logits.grad.isfinite().all()
    assert documented("A6") == "finite, theirs NaN"


def test_multilabel_kl_has_both_regions_and_the_mean_over_channels():
    """Without its complement, the KL of a foreground is negative when the prediction is too large."""
    ours = sw.Loss(sw.SizeKL(), activation="sigmoid")
    assert_differs(
        "A7", lambda z: ours(z, PRESENT), lambda z: kl(*channel_proportions(z, PRESENT)), CHANNELS, by=0.5369
    )
    too_large = torch.full_like(CHANNELS, 5.0)
    assert float(kl(*channel_proportions(too_large, PRESENT))) < 0
    assert float(ours(too_large, PRESENT)) > 0


@pytest.mark.parametrize("labels", [LABELS, PARTLY], ids=["all valid", "ignored pixels"])
def test_ce_db(labels):
    """One smooth for both images: with ε → 0 pixels it is theirs, up to EPS, as every class is somewhere predicted."""
    ours = sw.loss("DBCE", weight=1.0, smooth=1e-9, ignore_index=IGNORED)
    assert_same(
        "A8",
        lambda z: ours(z, labels),
        lambda z: cross_entropy(z, labels) + dice_bias(*class_proportions(z, labels)),
        LOGITS,
        tolerance=1e-7,
    )


def test_db_of_an_absent_class_is_bounded_below_by_one_pixel():
    """Class 3 neither present nor predicted: log(EPS) there, log(1 / |Ω|) here."""
    logits, labels = LOGITS.clone(), LABELS.where(LABELS != 3, 0)
    logits[:, 3] = -100
    ours = sw.DiceBias(classes=[3])

    def theirs(z):
        predicted, true = class_proportions(z, labels)
        return dice_bias(predicted[:, 3:], true[:, 3:])

    assert_differs("A9", lambda z: ours(z, labels), theirs, logits, by=19.2417)
    assert float(ours(logits, labels)) == pytest.approx(math.log(1 / 42), rel=1e-9)
    assert float(theirs(logits)) == pytest.approx(math.log(1e-10 + 2e-10 / 42), rel=1e-6)


@pytest.mark.parametrize("log", [False, True], ids=["Dice", "log-Dice"])
@pytest.mark.parametrize("labels", [LABELS, PARTLY], ids=["all valid", "ignored pixels"])
def test_dice(labels, log):
    """Theirs is over the batch and without smoothing; every class is present in this one."""
    kind = sw.LogDice if log else sw.Dice
    ours = sw.Loss(kind(smooth=1e-9, scope="batch"), ignore_index=IGNORED)
    assert_same("A10", lambda z: ours(z, labels), lambda z: dice(z, labels, log), LOGITS, tolerance=1e-8)


@pytest.mark.parametrize("log", [False, True], ids=["Dice", "log-Dice"])
def test_dice_with_a_class_that_is_absent_from_the_batch(log):
    labels = LABELS.where(LABELS != 3, 0)
    kind = sw.LogDice if log else sw.Dice
    ours = kind(smooth=1e-9, scope="batch", absent="skip")
    row, by = ("A12", 0.2417) if log else ("A11", 0.1515)
    assert_differs(row, lambda z: ours(z, labels), lambda z: dice(z, labels, log), LOGITS, by=by)
    # The same sum over the 3 present classes, divided by 3 here and by 4 there.
    assert 3 / 4 * float(ours(LOGITS, labels)) == pytest.approx(float(dice(LOGITS, labels, log)), rel=1e-8)


def test_focal_is_a_sum_of_sigmoids_there():
    """K one-vs-rest sigmoid losses, summed, while the size term and inference take the softmax."""
    assert_differs("A13", lambda z: sw.Focal()(z, LABELS), lambda z: focal(z, LABELS), LOGITS, by=-0.6709)


def test_an_image_without_labels_enters_no_mean():
    """Every proportion of it is EPS / EPS = 1 there: no penalty, but one more image in the mean."""
    labels = LABELS.clone()
    labels[1] = IGNORED
    predicted, true = class_proportions(LOGITS, labels)
    assert predicted[1].tolist() == true[1].tolist() == [1.0] * 4
    ours = sw.Loss(sw.SizeL1(), ignore_index=IGNORED)
    assert_differs("A14", lambda z: ours(z, labels), lambda z: l1(*class_proportions(z, labels)), LOGITS, by=0.0553)
    assert float(ours(LOGITS, labels)) == pytest.approx(2 * float(l1(predicted, true)), rel=1e-8)


def test_binary_cross_entropy_skips_ignored_pixels_here():
    """Their binary cross-entropy takes 255 as a target of 255, and its value goes far below zero."""
    labels = MASK.clone()
    labels[0, 0, 2, 0:5] = IGNORED
    ours = sw.Loss(sw.CrossEntropy(), activation="sigmoid", ignore_index=IGNORED)
    assert_differs(
        "A15",
        lambda z: ours(z, labels),
        lambda z: F.binary_cross_entropy_with_logits(z, labels.double()),
        BINARY,
        by=16.3850,
    )
