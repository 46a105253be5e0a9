"""SmpLoss: each of SMP's modes by one mapping, against the real SMP."""

import re

import pytest
import torch
from torchvision_stub import import_peer

import sizewise as sw
from sizewise.integrations.smp import SmpLoss

smp = import_peer("segmentation_models_pytorch", needs_torchvision=True)

INDEX = torch.arange(2 * 3 * 6 * 7, dtype=torch.float64).view(2, 3, 6, 7)
LOGITS = 2 * torch.sin(1.7 * INDEX + 0.013 * INDEX**2)
LABELS = (LOGITS[:, 0] * 5).long().abs() % 3
MASKS = (LOGITS.roll(1, 1) > 0).long()


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float32])
@pytest.mark.parametrize("mode", ["binary", "multiclass", "multilabel"])
def test_dice_is_smps_in_every_mode_and_target_dtype(mode, dtype):
    """Their smooth counts twice, and their sums are over the batch; see docs/differences.md."""
    logits, target = {
        "binary": (LOGITS[:, :1], MASKS[:, 0]),  # without the channel axis
        "multiclass": (LOGITS, LABELS),
        "multilabel": (LOGITS, MASKS),
    }[mode]
    ours = SmpLoss(sw.Dice(smooth=2.0, scope="batch"), mode=mode)
    theirs = smp.losses.DiceLoss(mode, smooth=1.0)
    given, other = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss, expected = ours(given, target.to(dtype)), theirs(other, target)
    loss.backward()
    expected.backward()
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-9)
    torch.testing.assert_close(given.grad, other.grad)


def test_a_binary_target_may_have_the_channel_axis():
    loss = SmpLoss("RCE", mode="binary")
    assert float(loss(LOGITS[:, :1], MASKS[:, :1].float())) == float(loss(LOGITS[:, :1], MASKS[:, 0]))


@pytest.mark.parametrize("mode", ["binary", "multiclass", "multilabel"])
def test_ignored_pixels(mode):
    logits, target = {
        "binary": (LOGITS[:, :1], MASKS[:, 0].clone()),
        "multiclass": (LOGITS, LABELS.clone()),
        "multilabel": (LOGITS, MASKS.clone()),
    }[mode]
    target[0, ..., :2, :] = 255
    activation = "softmax" if mode == "multiclass" else "sigmoid"
    expected = sw.loss("RCE", activation=activation, ignore_index=255)(logits, target)
    for given in (target, target.float()):
        assert float(SmpLoss("RCE", mode=mode, ignore_index=255)(logits, given)) == float(expected)


def test_bad_use_is_told_what_to_do():
    with pytest.raises(ValueError, match="mode must be one of 'binary', 'multiclass', 'multilabel', got 'multi-class'"):
        SmpLoss("RCE", mode="multi-class")
    with pytest.raises(ValueError, match=re.escape("mode 'binary' wants one channel, y_pred has shape (2, 3, 6, 7)")):
        SmpLoss("RCE", mode="binary")(LOGITS, MASKS[:, 0])
    with pytest.raises(ValueError, match=r'softmax over one class is always 1\..* use activation="sigmoid"'):
        SmpLoss("RCE", mode="multiclass")(LOGITS[:, :1], LABELS)
    with pytest.raises(ValueError, match="read their input differently"):
        SmpLoss(sw.loss("RCE", activation="sigmoid", ignore_index=3), mode="binary", ignore_index=4)
