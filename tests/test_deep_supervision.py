"""Each level's own loss, except that size terms aim at the full resolution's proportions."""

import pytest
import torch
from torch.nn import functional

import sizewise as sw
from sizewise.deep_supervision import nearest


def levels():
    torch.manual_seed(0)
    outputs = [torch.randn(2, 2, size, size, dtype=torch.float64, requires_grad=True) for size in (16, 8, 4)]
    target = torch.zeros(2, 16, 16, dtype=torch.long)
    target[:, 2:5, 2:5] = 1  # 9 of 256 pixels; only one of 16 after sampling down by 4
    return outputs, target


def test_pixel_terms_use_each_levels_own_target():
    outputs, target = levels()
    expected = sum(
        weight * functional.cross_entropy(output, nearest(target, output.shape[2:]))
        for weight, output in zip((4 / 7, 2 / 7, 1 / 7), outputs, strict=True)
    )
    torch.testing.assert_close(sw.DeepSupervision(sw.CrossEntropy())(outputs, target), expected)


@pytest.mark.parametrize("scope", ["image", "batch"])
def test_size_terms_aim_at_the_full_resolution(scope):
    outputs, target = levels()
    truth = torch.tensor([247 / 256, 9 / 256], dtype=torch.float64)
    expected = 0
    for weight, output in zip((0.5, 0.3, 0.2), outputs, strict=True):
        proportions = torch.softmax(10 * output, 1).mean((2, 3))
        if scope == "batch":
            proportions = proportions.mean(0, keepdim=True)
        expected = expected + weight * (proportions - truth).abs().mean()
    criterion = sw.DeepSupervision(sw.SizeL1(scope=scope), weights=[5, 3, 2])
    loss = criterion(outputs, target)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert all(output.grad.abs().sum() > 0 for output in outputs)


def test_a_class_that_vanished_below_is_still_present_for_sizes():
    output = [torch.zeros(1, 2, size) for size in (8, 2)]
    target = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 0]])  # sampled down to [0, 1] or [0, 0]: the truth stays 1/8
    loss = sw.DeepSupervision(sw.SizeL1(absent="skip"), weights=[0, 1])(output, target)
    assert float(loss) == pytest.approx((abs(0.5 - 7 / 8) + abs(0.5 - 1 / 8)) / 2)


def test_a_list_of_targets_is_taken_as_it_is():
    outputs, target = levels()
    targets = [target, target[:, ::2, ::2], target[:, ::4, ::4]]
    expected = functional.cross_entropy(outputs[1], targets[1])
    torch.testing.assert_close(sw.DeepSupervision(sw.CrossEntropy(), weights=[0, 1, 0])(outputs, targets), expected)


def test_masks_and_labels_with_a_channel_are_sampled_too():
    outputs, target = levels()
    mask = torch.ones(2, 16, 16, dtype=torch.bool)
    mask[0] = False
    criterion = sw.DeepSupervision(sw.loss("RCE"))
    torch.testing.assert_close(
        criterion(outputs, target.unsqueeze(1), mask), criterion([one[1:] for one in outputs], target[1:])
    )


def test_terms_add_up_to_the_loss():
    outputs, target = levels()
    criterion = sw.DeepSupervision(sw.loss("RCE", weight=0.3))
    terms = criterion.terms(outputs, target)
    assert list(terms) == ["CrossEntropy", "SizeL1"]
    torch.testing.assert_close(criterion.criterion.total(terms), criterion(outputs, target))
    torch.testing.assert_close(criterion(outputs[0], target), sw.loss("RCE", weight=0.3)(outputs[0], target))


def test_wrong_use_is_named():
    outputs, target = levels()
    with pytest.raises(TypeError, match="criterion must be a sizewise loss, got MSELoss"):
        sw.DeepSupervision(torch.nn.MSELoss())
    with pytest.raises(ValueError, match=r"at least one weight must be above 0, got \[0, 0\]"):
        sw.DeepSupervision(sw.Dice(), weights=[0, 0])
    with pytest.raises(ValueError, match="weights must be a number >= 0, got -1"):
        sw.DeepSupervision(sw.Dice(), weights=[-1])
    with pytest.raises(ValueError, match="there are 2 weights for 3 levels"):
        sw.DeepSupervision(sw.Dice(), weights=[1, 1])(outputs, target)
    with pytest.raises(ValueError, match="target must be one tensor or one per level, got 1 for 3 levels"):
        sw.DeepSupervision(sw.Dice())(outputs, [target])
    with pytest.raises(ValueError, match="at least one level, got none"):
        sw.DeepSupervision(sw.Dice())([], target)
    with pytest.raises(TypeError, match="weights must be a list, one per level, got 1"):
        sw.DeepSupervision(sw.Dice(), weights=1)
    with pytest.raises(TypeError, match="outputs must be a list with the logits of each level, got dict"):
        sw.DeepSupervision(sw.Dice())({"out": outputs[0]}, target)
    with pytest.raises(TypeError, match=r"DeepSupervision: target must be a torch\.Tensor, got int"):
        sw.DeepSupervision(sw.Dice())(outputs, 3)
    with pytest.raises(ValueError, match="target must have shape"):
        sw.DeepSupervision(sw.Dice())(outputs, target[0, 0])
