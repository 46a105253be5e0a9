"""Networks by name: shapes, gradients, padding of odd sizes, and what wrong names are told."""

import re
import subprocess
import sys

import pytest
import torch
from sampling import EXHAUSTIVE

from sizewise.errors import BadInput
from sizewise.models import hub
from sizewise.models.build import build_model, canonical_name, model_names, size_multiple
from sizewise.models.monai_nets import MONAI_NETS
from sizewise.models.padding import pad_to_multiple
from sizewise.models.smp import ARCHITECTURES, import_smp


def forward(name: str, shape: tuple[int, ...], out_channels: int = 3) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    model = build_model(name, spatial_dims=len(shape) - 2, in_channels=shape[1], out_channels=out_channels)
    padded, inside = pad_to_multiple(torch.randn(shape), size_multiple(name))
    return model, model(padded)[inside]


# 2 levels below the first need 4, 3 need 8, 4 need 16: sizes that no level divides
@pytest.mark.parametrize("name", list(MONAI_NETS))
@pytest.mark.parametrize("spatial", [(33, 18), (15, 16, 17)], ids=["2D", "3D"])
def test_monai_networks_take_padded_odd_sizes_and_pass_gradients_to_every_weight(name, spatial):
    model, logits = forward(name, (2, 2, *spatial))
    assert logits.shape == (2, 3, *spatial)
    logits.square().mean().backward()
    without = [key for key, weight in model.named_parameters() if weight.grad is None]
    assert not without
    assert all(bool(weight.grad.isfinite().all()) for weight in model.parameters())
    assert sum(float(weight.grad.abs().sum()) for weight in model.parameters()) > 0


@pytest.mark.parametrize("name", list(MONAI_NETS))
def test_the_size_multiple_of_a_monai_network_is_what_it_divides_by(name):
    """Half of it does not do: a level then meets its skip connection with another size."""
    multiple = size_multiple(name)
    model = build_model(name, spatial_dims=2, in_channels=1, out_channels=2).eval()
    assert model(torch.zeros(1, 1, multiple, 3 * multiple)).shape[2:] == (multiple, 3 * multiple)
    size = 2 * multiple + multiple // 2
    with pytest.raises(RuntimeError):
        model(torch.zeros(1, 1, size, size))


@pytest.mark.parametrize("name", ["fpn-resnet18", "unet-resnet18", "unet-mit_b0", "unet-efficientnet-b0"])
def test_smp_networks_take_padded_odd_sizes_and_pass_gradients(name):
    model, logits = forward(name, (2, 3, 60, 33), out_channels=2)
    assert logits.shape == (2, 2, 60, 33)
    logits.square().mean().backward()
    first = next(model.encoder.parameters())
    assert first.grad is not None
    assert float(first.grad.abs().sum()) > 0


@pytest.mark.skipif(not EXHAUSTIVE, reason="every architecture takes a while: SIZEWISE_EXHAUSTIVE=1")
@pytest.mark.parametrize("arch", ARCHITECTURES)
@torch.no_grad()
def test_every_architecture_of_smp(arch):
    encoder = "tu-vit_tiny_patch16_224" if arch == "dpt" else "resnet18"  # DPT is for vision transformers alone
    model = build_model(f"{arch}-{encoder}", spatial_dims=2, in_channels=1, out_channels=4).eval()
    assert model(torch.zeros(1, 1, 128, 160)).shape == (1, 4, 128, 160)  # PAN pools three times at 1/16


def test_r50_fpn_is_smps_own_with_its_number_of_weights():
    smp = import_smp()
    ours = build_model("R50-FPN", spatial_dims=2, in_channels=3, out_channels=2)
    assert type(ours) is smp.FPN
    # torchvision's ResNet-50 has 25 557 032 weights, 2048 * 1000 + 1000 of them in its classifier
    assert sum(weight.numel() for weight in ours.encoder.parameters()) == 25_557_032 - 2_049_000


def test_names_in_any_spelling():
    assert canonical_name("r101-fpn") == "fpn-resnet101"
    assert canonical_name(" R50-UNet ") == "unet-resnet50"
    assert canonical_name("3D-UNet") == "monai-dynunet"
    assert canonical_name("unet-timm-efficientnet-b0") == "unet-timm-efficientnet-b0"
    assert [canonical_name(name) for name in model_names()] == list(model_names())


def test_the_architectures_are_smps_own():
    assert set(ARCHITECTURES) == set(import_smp().MODEL_ARCHITECTURES_MAPPING)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "fpm-resnet50"}, "there is no model 'fpm-resnet50'. Did you mean 'fpn-resnet50'?"),
        ({"name": "fpn"}, "model 'fpn' lacks its encoder: write fpn-resnet50, or another encoder of SMP."),
        ({"name": "monai-unett"}, "Did you mean 'monai-unet'?"),
        ({"name": "fpn-resnet51"}, "there is no encoder 'resnet51'. Did you mean 'resnet50'?"),
        ({"name": "fpn-tu-resnet51"}, "model fpn-tu-resnet51: the two cannot be put together: Unknown model"),
        ({"name": "dpt-resnet18"}, "model dpt-resnet18: the two cannot be put together: Only Timm encoders"),
        ({"spatial_dims": 3}, "model fpn-resnet18 is for 2D images and the data is 3D. In 3D there are monai-unet"),
        ({"spatial_dims": 1}, "spatial_dims must be 2 or 3, got 1"),
        ({"out_channels": 0}, "at least one channel in and one out, got in_channels=3 and out_channels=0"),
        ({"encoder_stride": "v2"}, "encoder_stride must be one of auto, v1, v1.5, got 'v2'"),
        ({"name": "monai-unet", "encoder_weights": "imagenet"}, "has no encoder with weights of its own"),
        ({"name": "unet-efficientnet-b0", "encoder_stride": "v1"}, "encoder_stride='v1' is a layout of ResNets"),
        ({"encoder_weights": "imagnet"}, "must be 'imagenet', 'none' or a file, got 'imagnet'"),
    ],
)
def test_wrong_use_is_told_what_to_do(given, said):
    options = {"name": "fpn-resnet18", "spatial_dims": 2, "in_channels": 3, "out_channels": 2, **given}
    with pytest.raises(BadInput, match=re.escape(said)):
        build_model(**options)


def test_a_hub_out_of_reach_is_a_sentence(monkeypatch):
    def unreachable(*_, **__):
        raise OSError("Name or service not known")

    monkeypatch.setattr(hub, "is_reachable", lambda: True)
    monkeypatch.setattr(import_smp().encoders, "hf_hub_download", unreachable)
    with pytest.raises(BadInput, match="ImageNet weights of encoder 'resnet18' could not be fetched: Name or service"):
        build_model("fpn-resnet18", spatial_dims=2, in_channels=3, out_channels=2, encoder_weights="imagenet")


def test_names_are_known_without_the_libraries():
    """So that a typo is told at once."""
    code = (
        "import sys; from sizewise.models.build import canonical_name, size_multiple; size_multiple('fpn-resnet50');"
        "print([name for name in ('monai', 'timm', 'torchvision', 'segmentation_models_pytorch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.strip() == "[]"


def test_padding_is_zero_and_at_the_far_ends():
    images = torch.ones(1, 1, 3, 4, 5)
    padded, inside = pad_to_multiple(images, 4)
    assert padded.shape == (1, 1, 4, 4, 8)
    assert float(padded.sum()) == 3 * 4 * 5
    assert torch.equal(padded[inside], images)
    whole, _ = pad_to_multiple(padded[..., :4], 4)
    assert whole.data_ptr() == padded.data_ptr()
