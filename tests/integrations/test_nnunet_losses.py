"""The losses that the trainers build: against nnU-Net's own, against torch, and by hand."""

import pytest
import torch
import torch.nn.functional as F
from nnunet_trainers import LABELS, REGIONS, WEIGHTS, build, label_levels, levels, region_levels
from sampling import sample
from torchvision_stub import import_peer

import sizewise as sw

Theirs = import_peer("nnunetv2.training.nnUNetTrainer.nnUNetTrainer", needs_torchvision=True).nnUNetTrainer
IGNORE = {"ignore": 3}


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("nnUNet_results", str(tmp_path))
    monkeypatch.setenv("nnUNet_compile", "f")


def gradients(loss, outputs):
    return torch.autograd.grad(loss, outputs, allow_unused=True)


def assert_same(ours, theirs, outputs, *, tolerance):
    assert float(ours.detach()) == pytest.approx(float(theirs.detach()), rel=tolerance)
    for mine, other in zip(gradients(ours, outputs), gradients(theirs, outputs), strict=True):
        assert (mine is None) == (other is None)  # the level of weight 0
        if mine is not None:
            torch.testing.assert_close(mine, other.to(mine.dtype), rtol=0, atol=tolerance)


@pytest.mark.parametrize("batch_dice", [True, False])
def test_regions_and_levels_as_nnunet_own_loss(batch_dice):
    """With λ = 1 and its smoothing, DiceCE on regions is nnU-Net's default loss plus 1, level weights included."""
    trainer = build("nnUNetTrainerDiceCE_weight1_smooth1e-05", REGIONS, batch_dice=batch_dice)
    outputs, targets = levels(2), region_levels()
    ours, theirs = trainer._build_loss(), Theirs._build_loss(trainer)
    assert type(theirs).__name__ == "DeepSupervisionWrapper"
    assert_same(ours(outputs, targets), theirs(outputs, targets) + 1, outputs, tolerance=1e-5)


def test_batch_dice_changes_the_value():
    outputs, targets = levels(3), label_levels(3)
    pooled, apart = (
        build("nnUNetTrainerDice", batch_dice=pool)._build_loss()(outputs, targets) for pool in (True, False)
    )
    assert abs(float((pooled - apart).detach())) > 1e-4


@pytest.mark.parametrize("batch_dice", [True, False])
def test_ignored_labels_as_in_torch(batch_dice):
    trainer = build("nnUNetTrainerCE", LABELS | IGNORE, batch_dice=batch_dice)
    outputs, targets = levels(3), label_levels(4)
    expected = sum(
        weight * F.cross_entropy(output, target[:, 0].long(), ignore_index=3)
        for weight, output, target in zip(WEIGHTS, outputs, targets, strict=True)
        if weight
    )
    assert_same(trainer._build_loss()(outputs, targets), expected, outputs, tolerance=1e-12)


def test_a_stray_label_is_an_error_where_no_label_is_ignored():
    with pytest.raises(ValueError, match=r"3.*ignore_index"):
        build("nnUNetTrainerCE")._build_loss()(levels(3), label_levels(4))


def test_sizes_aim_at_the_full_resolution_on_every_level():
    """RCE by hand: CE of each level, and |p̂ − ŷ| with the ŷ of the first level."""
    outputs, targets = levels(3), label_levels(3)
    shares = F.one_hot(targets[0][:, 0].long(), 3).double().mean((1, 2))
    expected = 0
    for weight, output, target in zip(WEIGHTS[:2], outputs, targets, strict=False):
        predicted = (5 * output).softmax(1).mean((2, 3))
        expected = expected + weight * F.cross_entropy(output, target[:, 0].long())
        expected = expected + weight * 0.5 * (predicted - shares).abs().mean()
    trainer = build("nnUNetTrainerRCE_weight0.5_temperature5")
    assert_same(trainer._build_loss()(outputs, targets), expected, outputs, tolerance=1e-12)


def test_regions_with_an_ignore_label_leave_its_pixels_out():
    trainer = build("nnUNetTrainerRCE", REGIONS | IGNORE)
    outputs, targets = levels(2), region_levels(ignore=True)
    criterion = sw.DeepSupervision(sw.loss("RCE", activation="sigmoid"), weights=WEIGHTS)
    masks = [~target[:, 2:] for target in targets]
    expected = criterion(outputs, [target[:, :2] for target in targets], masks)
    found = trainer._build_loss()(outputs, targets)
    assert_same(found, expected, outputs, tolerance=1e-12)
    (gradient,) = gradients(trainer._build_loss()(outputs, targets), outputs[:1])
    assert (gradient[targets[0][:, 2:].expand_as(gradient)] == 0).all()
    bce = F.binary_cross_entropy_with_logits(outputs[0], targets[0][:, :2].double(), reduction="none")
    alone = build("nnUNetTrainerCE", REGIONS | IGNORE)
    alone.enable_deep_supervision = False
    value = alone._build_loss()(outputs[0], targets[0])
    assert float(value.detach()) == pytest.approx(float(bce[masks[0].expand_as(bce)].mean().detach()), rel=1e-12)


def test_without_deep_supervision():
    trainer = build("nnUNetTrainerRCE")
    trainer.enable_deep_supervision = False
    output, target = levels(3)[0].detach(), label_levels(3)[0]
    assert float(trainer._build_loss()(output, target)) == pytest.approx(float(sw.loss("RCE")(output, target)))


@pytest.mark.parametrize(
    ("batch_dice", "ddp", "scope"),
    [(False, False, "image"), (False, True, "image"), (True, False, "batch"), (True, True, "global")],
)
def test_batch_dice_and_ddp_choose_the_scope(batch_dice, ddp, scope):
    trainer = build("nnUNetTrainerRCE", batch_dice=batch_dice)
    trainer.is_ddp = ddp
    loss = trainer._build_loss().criterion
    assert loss.criterion.parts["SizeL1"].scope == scope
    assert loss.criterion.parts["CrossEntropy"].scope == ("batch" if scope == "image" else scope)
    # DDP wants a gradient for every parameter, so nnU-Net gives the last level a little weight there
    assert (loss.weights[-1] > 0) == ddp


def test_a_scope_that_was_set_wins():
    loss = build("nnUNetTrainerRCE_scopeimage", batch_dice=True)._build_loss()
    assert loss.criterion.criterion.parts["SizeL1"].scope == "image"


@pytest.mark.parametrize("labels", sample([REGIONS | IGNORE, LABELS], 1))
def test_the_loss_compiles_whole(labels):
    loss = build("nnUNetTrainerRCE", labels)._build_loss()
    outputs = levels(3 if labels is LABELS else 2)
    targets = label_levels(3) if labels is LABELS else region_levels(ignore=True)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    assert_same(compiled(outputs, targets), loss(outputs, targets), outputs, tolerance=1e-12)


def test_half_precision_outputs():
    """Under autocast the network's outputs are half precision; the loss is not."""
    outputs, targets = [output.detach() for output in levels(3)], label_levels(3)
    loss = build("nnUNetTrainerRCEKL")._build_loss()
    value = loss([output.half() for output in outputs], targets)
    assert value.dtype == torch.float32
    assert float(value) == pytest.approx(float(loss(outputs, targets)), rel=1e-3)
