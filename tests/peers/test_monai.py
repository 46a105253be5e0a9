"""Dice, Tversky, generalized Dice, focal and their sums against MONAI's."""

import pytest
import torch
from comparison import (
    IGNORED,
    assert_differs,
    assert_same,
    example,
    multilabel_example,
    partly_ignored,
    soft,
    value_and_gradient,
    waves,
)
from torchvision_stub import import_peer

import sizewise as sw

monai = import_peer("monai.losses")

LOGITS, LABELS = example()
LABELS = LABELS.unsqueeze(1)  # (N, 1, *S), as MONAI's pipelines hand them
PARTLY = partly_ignored(LABELS.squeeze(1)).unsqueeze(1)
CHANNELS, PRESENT = multilabel_example()
SCOPES = {True: "batch", False: "image"}
CLASSES = {True: "all", False: "foreground"}


@pytest.mark.parametrize("smooth", [1e-5, 1.0])
@pytest.mark.parametrize("include_background", [True, False])
@pytest.mark.parametrize("batch", [True, False])
def test_dice(batch, include_background, smooth):
    """The two smooth terms of MONAI, set alike, are our one."""
    ours = sw.Dice(smooth=smooth, scope=SCOPES[batch], classes=CLASSES[include_background])
    theirs = monai.DiceLoss(
        softmax=True,
        to_onehot_y=True,
        batch=batch,
        include_background=include_background,
        smooth_nr=smooth,
        smooth_dr=smooth,
    )
    assert_same("M1", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS)


def test_dice_of_a_volume():
    logits, labels = waves(2, 3, 4, 5, 6), waves(2, 1, 4, 5, 6).round().long().abs().clamp(max=2)
    theirs = monai.DiceLoss(softmax=True, to_onehot_y=True, smooth_nr=1.0, smooth_dr=1.0)
    assert_same("M1", lambda z: sw.Dice()(z, labels), lambda z: theirs(z, labels), logits)


@pytest.mark.parametrize("batch", [True, False])
def test_sigmoid_dice(batch):
    ours = sw.Loss(sw.Dice(smooth=0.5, scope=SCOPES[batch]), activation="sigmoid")
    theirs = monai.DiceLoss(sigmoid=True, batch=batch, smooth_nr=0.5, smooth_dr=0.5)
    assert_same("M2", lambda z: ours(z, PRESENT), lambda z: theirs(z, PRESENT), CHANNELS)


def test_default_smoothing_of_dice():
    """Class 3 is absent from the second image: 1 − 1e-5 / P there, 1 − 1 / (P + 1) here."""
    theirs = monai.DiceLoss(softmax=True, to_onehot_y=True)
    assert_differs("M3", lambda z: sw.Dice()(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, by=-0.0428)

    def pull_on_absent_class(loss):
        return value_and_gradient(loss, LOGITS)[1][1, 3].abs().sum()

    absent = {"scope": "image", "classes": [3]}
    weak = pull_on_absent_class(lambda z: sw.Dice(smooth=1e-5, **absent)(z, LABELS))
    assert pull_on_absent_class(lambda z: sw.Dice(**absent)(z, LABELS)) > 1e4 * weak


def test_dice_with_ignored_pixels():
    ours = sw.Loss(sw.Dice(smooth=1e-5), ignore_index=IGNORED)
    theirs = monai.DiceLoss(softmax=True, to_onehot_y=True, ignore_index=IGNORED)
    assert_same("M4", lambda z: ours(z, PARTLY), lambda z: theirs(z, PARTLY), LOGITS)


def test_an_image_without_labels_enters_no_mean():
    """There it counts as a perfect image, 1 − s/s = 0, and halves the loss of the other one."""
    labels = LABELS.clone()
    labels[1] = IGNORED
    ours = sw.Loss(sw.Dice(smooth=1e-5), ignore_index=IGNORED)
    theirs = monai.DiceLoss(softmax=True, to_onehot_y=True, ignore_index=IGNORED)
    assert_differs("M5", lambda z: ours(z, labels), lambda z: theirs(z, labels), LOGITS, by=0.3595)
    assert float(ours(LOGITS, labels)) == pytest.approx(2 * float(theirs(LOGITS, labels)), rel=1e-9)


def test_class_weights_of_dice_are_normalised_here():
    weight = torch.tensor([0.2, 1.0, 2.0, 5.0], dtype=torch.float64)
    ours = sw.Dice(smooth=1e-5, class_weight=weight)
    theirs = monai.DiceLoss(softmax=True, to_onehot_y=True, weight=weight)
    assert_differs("M6", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, by=-0.9066)
    # Σ w x / Σ w here, Σ w x / K there
    assert float(ours(LOGITS, LABELS)) * 8.2 / 4 == pytest.approx(float(theirs(LOGITS, LABELS)), rel=1e-9)


def test_soft_labels():
    target = soft(LABELS.squeeze(1), 4)
    theirs = monai.DiceLoss(softmax=True, soft_label=True)
    assert_same("M7", lambda z: sw.Dice(smooth=1e-5)(z, target), lambda z: theirs(z, target), LOGITS)


def test_soft_labels_without_the_flag():
    """The product p · y is not largest at p = y; min(p, y) is, so a perfect prediction costs nothing."""
    target = soft(LABELS.squeeze(1), 4)
    ours, theirs = sw.Dice(smooth=1e-5), monai.DiceLoss(softmax=True)
    assert_differs("M8", lambda z: ours(z, target), lambda z: theirs(z, target), LOGITS, by=-0.1398)
    perfect = target.log()
    assert float(ours(perfect, target)) == pytest.approx(0, abs=1e-9)
    assert float(theirs(perfect, target)) > 0.2


def test_squared_predictions_are_not_offered():
    theirs = monai.DiceLoss(softmax=True, to_onehot_y=True, squared_pred=True)
    ours = sw.Dice(smooth=1e-5)
    assert_differs("M9", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, by=0.0792)


@pytest.mark.parametrize("batch", [True, False])
def test_jaccard(batch):
    """MONAI writes the ratio times two, so its smooth counts half."""
    ours = sw.Jaccard(smooth=0.5, scope=SCOPES[batch])
    theirs = monai.DiceLoss(softmax=True, to_onehot_y=True, jaccard=True, batch=batch, smooth_nr=1.0, smooth_dr=1.0)
    assert_same("M10", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS)


@pytest.mark.parametrize("include_background", [True, False])
@pytest.mark.parametrize("batch", [True, False])
def test_tversky(batch, include_background):
    ours = sw.Tversky(alpha=0.3, beta=0.7, smooth=1e-5, scope=SCOPES[batch], classes=CLASSES[include_background])
    theirs = monai.TverskyLoss(
        softmax=True, to_onehot_y=True, alpha=0.3, beta=0.7, batch=batch, include_background=include_background
    )
    assert_same("M11", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS)
