"""Generalized Dice, focal, Dice with cross-entropy, and tensors with metadata, against MONAI's."""

import pytest
import torch
from comparison import (
    IGNORED,
    assert_differs,
    assert_same,
    example,
    multilabel_example,
    partly_ignored,
    value_and_gradient,
)
from torchvision_stub import import_peer

import sizewise as sw

monai = import_peer("monai.losses")
MetaTensor = import_peer("monai.data").MetaTensor

LOGITS, LABELS = example()
LABELS = LABELS.unsqueeze(1)
PARTLY = partly_ignored(LABELS.squeeze(1)).unsqueeze(1)
CHANNELS, PRESENT = multilabel_example()
SINGLE = 1e-5  # MONAI's focal loss works in float32


def test_generalized_dice_with_the_smooth_term_brought_to_our_scale():
    """Weights 1/T² there, (T_min/T)² here: the same ratio, and their smooth is T_min² of ours."""
    image, label = LOGITS[:1], LABELS[:1]  # the smallest region has T_min = 2 pixels
    ours = sw.GeneralizedDice(smooth=0.1 * 2**2)
    theirs = monai.GeneralizedDiceLoss(softmax=True, to_onehot_y=True, smooth_nr=0.1, smooth_dr=0.1)
    assert_same("M12", lambda z: ours(z, label), lambda z: theirs(z, label), image, tolerance=SINGLE)


@pytest.mark.parametrize("include_background", [True, False])
def test_generalized_dice_of_a_batch(include_background):
    ours = sw.GeneralizedDice(smooth=1e-5 * 2**2, scope="batch", classes="all" if include_background else "foreground")
    theirs = monai.GeneralizedDiceLoss(
        softmax=True, to_onehot_y=True, batch=True, include_background=include_background
    )
    assert_same("M12", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, tolerance=SINGLE)


def test_generalized_dice_with_an_absent_class():
    """Both give it the weight of the smallest present one; without smoothing no scale is left to differ in."""
    ours = sw.GeneralizedDice(smooth=1e-12)
    theirs = monai.GeneralizedDiceLoss(softmax=True, to_onehot_y=True, smooth_nr=1e-12, smooth_dr=1e-12)
    assert (LABELS[1] != 3).all()
    assert_same("M12", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, tolerance=SINGLE)


def test_generalized_dice_of_large_regions_keeps_its_size():
    """Two regions of 200 × 400 pixels: with weights of 1.6e-10 their smooth term counts, and more so in a volume."""
    labels = torch.zeros(1, 1, 400, 400, dtype=torch.long)
    labels[:, :, 200:] = 1
    logits = torch.zeros(1, 2, 400, 400, dtype=torch.float64)  # p = 1/2 everywhere
    theirs = monai.GeneralizedDiceLoss(softmax=True, to_onehot_y=True)
    # I = 40000 and P + T = 160000 for each region. Ours: 1 − (4 · 40000 + 1) / (2 · 160000 + 1) = 0.5.
    # Theirs: w = 80000⁻², so 1 − (2.5e-5 + 1e-5) / (5e-5 + 1e-5) = 0.4167.
    assert_differs("M13", lambda z: sw.GeneralizedDice()(z, labels), lambda z: theirs(z, labels), logits, by=0.0833)


def test_generalized_dice_without_any_foreground():
    """No class has a weight there, so the loss is 1 − s/s = 0 whatever is predicted; here false positives cost."""
    labels = torch.zeros_like(LABELS)
    ours = sw.GeneralizedDice(classes="foreground")
    theirs = monai.GeneralizedDiceLoss(softmax=True, to_onehot_y=True, include_background=False)
    assert_differs("M14", lambda z: ours(z, labels), lambda z: theirs(z, labels), LOGITS, by=0.9686)


def test_generalized_dice_of_sigmoid_channels():
    """One ratio over all channels there; here each channel is a two-class problem of its own."""
    ours = sw.Loss(sw.GeneralizedDice(smooth=1e-5), activation="sigmoid")
    theirs = monai.GeneralizedDiceLoss(sigmoid=True)
    assert_differs("M15", lambda z: ours(z, PRESENT), lambda z: theirs(z, PRESENT), CHANNELS, by=-0.1506)
    channels = [
        sw.GeneralizedDice(smooth=1e-5)(
            torch.stack((torch.zeros_like(CHANNELS[:, c]), CHANNELS[:, c]), 1), PRESENT[:, c]
        )
        for c in range(3)
    ]
    assert float(ours(CHANNELS, PRESENT)) == pytest.approx(float(sum(channels)) / 3, rel=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 1.5, 2.0])
def test_focal_divides_by_the_classes_there(gamma):
    theirs = monai.FocalLoss(use_softmax=True, to_onehot_y=True, gamma=gamma)
    assert_same(
        "M16",
        lambda z: sw.Focal(gamma=gamma)(z, LABELS),
        lambda z: 4 * theirs(z, LABELS),  # the mean over N · K · pixels, of which all but N · pixels are 0
        LOGITS,
        tolerance=SINGLE,
    )


def test_focal_by_default():
    theirs = monai.FocalLoss(use_softmax=True, to_onehot_y=True)
    assert_differs("M17", lambda z: sw.Focal()(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, by=0.7871)


def test_focal_with_ignored_pixels_divides_by_pixels_there_too():
    ours = sw.Loss(sw.Focal(), ignore_index=IGNORED)
    theirs = monai.FocalLoss(use_softmax=True, to_onehot_y=True, ignore_index=IGNORED)
    assert_same("M18", lambda z: ours(z, PARTLY), lambda z: theirs(z, PARTLY), LOGITS, tolerance=SINGLE)


def test_focal_of_the_foreground_keeps_the_softmax_over_all_classes():
    """They drop the background's logit before the softmax; choosing classes changes no probability here."""
    ours = sw.Focal(classes="foreground")
    theirs = monai.FocalLoss(use_softmax=True, to_onehot_y=True, include_background=False)
    assert_differs("M19", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, by=0.9420)
    foreground = LABELS.squeeze(1) > 0
    log_p = LOGITS[:, 1:].log_softmax(1).gather(1, (LABELS - 1).clamp(min=0)).squeeze(1)[foreground]
    summed = float((-((1 - log_p.exp()) ** 2) * log_p).sum())
    assert float(theirs(LOGITS, LABELS)) == pytest.approx(summed / (84 * 3), rel=SINGLE)  # all pixels, 3 classes


def test_sigmoid_focal():
    ours = sw.Loss(sw.Focal(), activation="sigmoid")
    theirs = monai.FocalLoss()
    assert_same("M20", lambda z: ours(z, PRESENT), lambda z: theirs(z, PRESENT), CHANNELS, tolerance=SINGLE)


@pytest.mark.parametrize("batch", [True, False])
def test_dice_with_cross_entropy_one_to_one(batch):
    ours = sw.CrossEntropy() + sw.Dice(smooth=1e-5, scope="batch" if batch else "image")
    theirs = monai.DiceCELoss(softmax=True, to_onehot_y=True, batch=batch)
    assert_same("M21", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS)
    if not batch:
        named = sw.loss("DiceCE", weight=1.0, smooth=1e-5)
        assert_same("M21", lambda z: named(z, LABELS), lambda z: theirs(z, LABELS), LOGITS)


def test_named_dice_with_cross_entropy_has_the_weight_of_the_paper():
    theirs = monai.DiceCELoss(softmax=True, to_onehot_y=True)
    assert_differs("M22", lambda z: sw.loss("DiceCE")(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, by=-0.6386)


def test_dice_with_cross_entropy_of_one_channel():
    logits, labels = CHANNELS[:, :1], PRESENT[:, :1]
    ours = sw.loss("DiceCE", weight=1.0, smooth=1e-5, activation="sigmoid")
    theirs = monai.DiceCELoss(sigmoid=True)
    assert_same("M23", lambda z: ours(z, labels), lambda z: theirs(z, labels), logits)


def test_dice_with_cross_entropy_of_several_sigmoid_channels():
    """Their cross-entropy is the softmax one over channels that need not exclude each other; ours is binary."""
    ours = sw.loss("DiceCE", weight=1.0, smooth=1e-5, activation="sigmoid")
    theirs = monai.DiceCELoss(sigmoid=True)
    assert_differs("M24", lambda z: ours(z, PRESENT), lambda z: theirs(z, PRESENT), CHANNELS, by=-0.0477)
    softmax_cross_entropy = torch.nn.functional.cross_entropy(CHANNELS, PRESENT.double())
    dice = sw.Loss(sw.Dice(smooth=1e-5), activation="sigmoid")(CHANNELS, PRESENT)
    assert float(theirs(CHANNELS, PRESENT)) == pytest.approx(float(softmax_cross_entropy + dice), rel=1e-9)


@pytest.mark.parametrize("name", ["CE", "DiceCE", "RCE", "DBCE"])
def test_tensors_with_metadata_come_out_plain(name):
    criterion = sw.loss(name)
    value, gradient = value_and_gradient(lambda z: criterion(z, LABELS), LOGITS)
    leaf = LOGITS.clone().requires_grad_()
    logits = MetaTensor(leaf * 1.0)
    result = criterion(logits, MetaTensor(LABELS), MetaTensor(torch.ones_like(LABELS, dtype=torch.bool)))
    result.backward()
    assert type(logits) is MetaTensor
    assert type(result) is torch.Tensor
    assert type(leaf.grad) is torch.Tensor
    assert torch.equal(result.detach(), value)
    assert torch.equal(leaf.grad, gradient)


def test_float_label_maps_are_an_error_that_says_what_to_do():
    """MONAI's transforms hand labels as float; its losses take them as they are."""
    with pytest.raises(TypeError, match=r"\.long\(\)"):
        sw.Dice()(LOGITS, MetaTensor(LABELS.float()))
