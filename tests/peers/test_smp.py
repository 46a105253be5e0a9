"""Dice, Jaccard, Tversky, focal and cross-entropy against segmentation_models.pytorch."""

import pytest
import torch
from comparison import (
    IGNORED,
    assert_differs,
    assert_same,
    example,
    multilabel_example,
    partly_ignored,
    waves,
)
from torchvision_stub import import_peer

import sizewise as sw

smp = import_peer("segmentation_models_pytorch.losses", needs_torchvision=True)

LOGITS, LABELS = example()
PARTLY = partly_ignored(LABELS)
CHANNELS, PRESENT = multilabel_example()
BINARY, MASK = CHANNELS[:, :1], PRESENT[:, :1]
WITHOUT_3 = LABELS.where(LABELS != 3, 0)  # class 3 is absent from the whole batch
DICE = {False: sw.Dice, True: sw.LogDice}


def multilabel_ignored() -> torch.Tensor:
    """Each channel has its own ignored pixels."""
    labels = PRESENT.clone()
    labels[0, 0, 1:3, 0:4] = IGNORED
    labels[1, 2, 5, :] = IGNORED
    return labels


@pytest.mark.parametrize("labels", [LABELS, PARTLY], ids=["all valid", "ignored pixels"])
@pytest.mark.parametrize("smooth", [0.0, 1.0])
@pytest.mark.parametrize("log_loss", [False, True])
def test_multiclass_dice(log_loss, smooth, labels):
    """Their ratio is written without the factor 2, so their smooth counts twice. Sums are over the batch."""
    ours = sw.Loss(DICE[log_loss](smooth=max(2 * smooth, 1e-9), scope="batch"), ignore_index=IGNORED)
    theirs = smp.DiceLoss("multiclass", log_loss=log_loss, smooth=smooth, ignore_index=IGNORED)
    assert_same("S1", lambda z: ours(z, labels), lambda z: theirs(z, labels), LOGITS, tolerance=1e-8)


def test_multiclass_dice_with_class_weights_and_chosen_classes():
    ours = sw.Dice(smooth=2.0, scope="batch", classes=[1, 3], class_weight=[1.0, 2.0, 3.0, 4.0])
    theirs = smp.DiceLoss("multiclass", smooth=1.0, classes=[1, 3], class_weights=[1.0, 2.0, 3.0, 4.0])
    assert_same("S2", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS)


@pytest.mark.parametrize("log_loss", [False, True])
def test_binary_dice(log_loss):
    ours = sw.Loss(DICE[log_loss](smooth=2.0, scope="batch"), activation="sigmoid", ignore_index=IGNORED)
    theirs = smp.DiceLoss("binary", log_loss=log_loss, smooth=1.0, ignore_index=IGNORED)
    labels = multilabel_ignored()[:, :1]
    assert_same("S3", lambda z: ours(z, labels), lambda z: theirs(z, labels), BINARY)


@pytest.mark.parametrize("log_loss", [False, True])
def test_multilabel_dice(log_loss):
    ours = sw.Loss(DICE[log_loss](smooth=2.0, scope="batch"), activation="sigmoid", ignore_index=IGNORED)
    theirs = smp.DiceLoss("multilabel", log_loss=log_loss, smooth=1.0, ignore_index=IGNORED)
    labels = multilabel_ignored()
    assert_same("S4", lambda z: ours(z, labels), lambda z: theirs(z, labels), CHANNELS)


def test_soft_multilabel_dice():
    """Both take min(p, y) as the overlap."""
    target = 0.1 + 0.7 * PRESENT.double()
    ours = sw.Loss(sw.Dice(smooth=2.0, scope="batch"), activation="sigmoid")
    theirs = smp.DiceLoss("multilabel", smooth=1.0)
    assert_same("S4", lambda z: ours(z, target), lambda z: theirs(z, target), CHANNELS)


def test_by_default_we_take_dice_per_image_and_smooth():
    theirs = smp.DiceLoss("multiclass")
    assert_differs("S5", lambda z: sw.Dice()(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, by=-0.0359)


def test_an_absent_class_has_no_loss_there():
    """They zero it and keep it in the mean; here its false positives cost, 1 − ε / (P + ε)."""
    ours = sw.Dice(smooth=2.0, scope="batch")
    theirs = smp.DiceLoss("multiclass", smooth=1.0)
    assert_differs("S6", lambda z: ours(z, WITHOUT_3), lambda z: theirs(z, WITHOUT_3), LOGITS, by=0.2252)
    absent = float(sw.Dice(smooth=2.0, scope="batch", classes=[3])(LOGITS, WITHOUT_3))
    assert float(theirs(LOGITS, WITHOUT_3)) == pytest.approx(float(ours(LOGITS, WITHOUT_3)) - absent / 4, rel=1e-9)


def test_a_skipped_class_leaves_the_mean_here():
    """3 of 4 classes are present: their mean divides the same sum by 4, ours by 3."""
    ours = sw.Dice(smooth=2.0, scope="batch", absent="skip")
    theirs = smp.DiceLoss("multiclass", smooth=1.0)
    assert_differs("S7", lambda z: ours(z, WITHOUT_3), lambda z: theirs(z, WITHOUT_3), LOGITS, by=0.1449)
    assert_same("S8", lambda z: 3 / 4 * ours(z, WITHOUT_3), lambda z: theirs(z, WITHOUT_3), LOGITS)


def test_a_missed_class_keeps_its_gradient_in_log_dice():
    """Below their clamp at 1e-7 the class has no gradient left; log(P + T + ε) − log(2I + ε) has no clamp."""
    logits = torch.zeros(1, 2, 4, 4, dtype=torch.float64)
    logits[:, 1] = -18  # the foreground is missed with confidence, p = 1.5e-8
    labels = torch.zeros(1, 4, 4, dtype=torch.long)
    labels[:, :2] = 1
    ours = sw.LogDice(smooth=1e-12, scope="batch", classes=[1])
    theirs = smp.DiceLoss("multiclass", log_loss=True, classes=[1])
    # 2I = 16 e^-18 = 2.44e-7 and P + T = 8: log 8 − log 2.44e-7 = 17.307 here; −log 1e-7 = 16.118 there.
    assert_differs("S9", lambda z: ours(z, labels), lambda z: theirs(z, labels), logits, by=1.1888)
    ours_leaf, their_leaf = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    ours(ours_leaf, labels).backward()
    theirs(their_leaf, labels).backward()
    assert float(their_leaf.grad.abs().max()) == 0
    assert float(ours_leaf.grad[:, 1, :2].sum()) == pytest.approx(-1, rel=1e-4)  # −Σ p / I over its 8 pixels


@pytest.mark.parametrize("labels", [LABELS, PARTLY], ids=["all valid", "ignored pixels"])
def test_jaccard(labels):
    ours = sw.Loss(sw.Jaccard(smooth=1.0, scope="batch"), ignore_index=IGNORED)
    theirs = smp.JaccardLoss("multiclass", smooth=1.0, ignore_index=IGNORED)
    assert_same("S10", lambda z: ours(z, labels), lambda z: theirs(z, labels), LOGITS)


@pytest.mark.parametrize("labels", [LABELS, PARTLY], ids=["all valid", "ignored pixels"])
def test_tversky(labels):
    """Neither writes this ratio with a factor 2, so smooth is smooth."""
    ours = sw.Loss(sw.Tversky(alpha=0.3, beta=0.7, smooth=1.0, scope="batch"), ignore_index=IGNORED)
    theirs = smp.TverskyLoss("multiclass", alpha=0.3, beta=0.7, smooth=1.0, ignore_index=IGNORED)
    assert_same("S11", lambda z: ours(z, labels), lambda z: theirs(z, labels), LOGITS)


def test_multiclass_focal_is_another_loss():
    """K one-vs-rest sigmoid losses, averaged, there; the softmax probability of the true class here."""
    theirs = smp.FocalLoss("multiclass")
    assert_differs("S12", lambda z: sw.Focal()(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, by=0.6194)
    one_hot = torch.nn.functional.one_hot(LABELS, 4).movedim(-1, 1)
    ours = sw.Loss(sw.Focal(), activation="sigmoid")
    assert_same("S13", lambda z: ours(z, one_hot), lambda z: theirs(z, LABELS), LOGITS)


def test_multiclass_focal_is_not_invariant_to_a_shift_of_the_logits():
    """Softmax ignores a constant added to every logit; one-vs-rest sigmoids do not, and training then spends on it."""
    theirs, shifted = smp.FocalLoss("multiclass"), LOGITS + 3
    assert float(sw.Focal()(shifted, LABELS)) == pytest.approx(float(sw.Focal()(LOGITS, LABELS)), rel=1e-12)
    assert float(theirs(shifted, LABELS)) > 1.5 * float(theirs(LOGITS, LABELS))


@pytest.mark.parametrize("mode", ["binary", "multilabel"])
def test_sigmoid_focal(mode):
    logits, labels = (BINARY, MASK) if mode == "binary" else (CHANNELS, PRESENT)
    ours = sw.Loss(sw.Focal(), activation="sigmoid")
    theirs = smp.FocalLoss(mode)
    assert_same("S13", lambda z: ours(z, labels), lambda z: theirs(z, labels), logits)


def test_soft_cross_entropy_divides_by_ignored_pixels_too():
    """17 of 84 pixels are ignored: theirs is 67/84 of the mean over valid pixels."""
    ours = sw.Loss(sw.CrossEntropy(), ignore_index=IGNORED)
    theirs = smp.SoftCrossEntropyLoss(smooth_factor=0.0, ignore_index=IGNORED)
    assert_differs("S14", lambda z: ours(z, PARTLY), lambda z: theirs(z, PARTLY), LOGITS, by=0.3049)
    assert_same("S15", lambda z: 67 / 84 * ours(z, PARTLY), lambda z: theirs(z, PARTLY), LOGITS)


def test_batch_pooling_over_volumes():
    logits, labels = waves(2, 3, 4, 5, 6), waves(2, 4, 5, 6).round().long().abs()
    ours, theirs = sw.Dice(smooth=2.0, scope="batch"), smp.DiceLoss("multiclass", smooth=1.0)
    assert_same("S1", lambda z: ours(z, labels), lambda z: theirs(z, labels), logits)
