"""Heads whose upsampling is left to the loss: the same loss and gradients, and the same network when evaluated."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import sizewise as sw
from sizewise.models.build import build_model
from sizewise.models.head_upsampling import leave_upsampling_to_loss


def fpn() -> nn.Module:
    torch.manual_seed(0)
    return build_model("fpn-resnet18", spatial_dims=2, in_channels=3, out_channels=4)


def gradients(model, criterion, images, labels):
    model.train()
    for layer in model.modules():  # dropout draws anew in every call
        if isinstance(layer, (nn.Dropout, nn.Dropout2d)):
            layer.p = 0.0
    loss = criterion(model(images), labels)
    return loss.detach(), torch.autograd.grad(loss, list(model.parameters()))


def test_an_fpn_trains_the_same_on_small_logits():
    images, labels = torch.randn(2, 3, 64, 96), torch.randint(0, 4, (2, 64, 96))
    wanted, exact = gradients(fpn(), sw.loss("DiceCE"), images, labels)
    model = fpn()
    names = list(model.state_dict())
    upsample = leave_upsampling_to_loss(model)
    assert upsample == "linear-corners"
    assert list(model.state_dict()) == names
    assert model.train()(images).shape == (2, 4, 16, 24)
    found, gradient = gradients(model, sw.loss("DiceCE", upsample=upsample), images, labels)
    torch.testing.assert_close(found, wanted)
    for one, other in zip(gradient, exact, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_evaluated_it_is_the_network_that_it_was():
    images = torch.randn(1, 3, 64, 64)
    before, after = fpn().eval(), fpn().eval()
    leave_upsampling_to_loss(after)
    assert torch.equal(before(images), after(images))


@pytest.mark.parametrize(
    "name", ["deeplabv3plus-resnet18", "pspnet-resnet18", "upernet-resnet18", "segformer-resnet18"]
)
def test_other_heads_upsample_as_the_loss_will(name):
    model = build_model(name, spatial_dims=2, in_channels=3, out_channels=2).eval()
    images = torch.randn(1, 3, 64, 96)
    with torch.no_grad():
        full = model(images)
        assert leave_upsampling_to_loss(model) == "linear-corners"
        assert torch.equal(model(images), full)
        model.segmentation_head.train()
        small = model(images)
    assert small.shape[2] < full.shape[2] == 64
    torch.testing.assert_close(functional.interpolate(small, (64, 96), mode="bilinear", align_corners=True), full)


@pytest.mark.parametrize("name", ["unet-resnet18", "monai-unet-small"])
def test_a_network_without_such_a_head_stays_as_it_is(name):
    model = build_model(name, spatial_dims=2, in_channels=3, out_channels=2)
    assert leave_upsampling_to_loss(model) is None


def test_compiled_it_knows_whether_it_is_trained():
    model = nn.Module()
    model.segmentation_head = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Upsample(scale_factor=2, mode="bilinear"))
    assert leave_upsampling_to_loss(model) == "linear"
    compiled = torch.compile(model.segmentation_head, backend="eager", fullgraph=True)
    assert compiled(torch.zeros(1, 1, 4, 4)).shape[2:] == (4, 4)
    model.eval()
    assert compiled(torch.zeros(1, 1, 4, 4)).shape[2:] == (8, 8)


def test_an_activation_behind_the_upsampling_keeps_it_there():
    model = nn.Module()
    model.segmentation_head = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Sigmoid())
    assert leave_upsampling_to_loss(model) is None
    model.segmentation_head = nn.Sequential(nn.Upsample(scale_factor=2), nn.Identity())  # to the nearest
    assert leave_upsampling_to_loss(model) is None
