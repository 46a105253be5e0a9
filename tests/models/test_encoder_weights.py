"""Encoder weights from files: what is loaded, where the strides go, and what bad files are told."""

import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional

from sizewise.errors import BadInput
from sizewise.models.build import build_model
from sizewise.models.encoder_weights import stride_layout

SHARED = Path(__file__).parents[3] / "shared" / "weights" / "resnet50-imagenet-v1-fp16.safetensors"


def make(name: str = "fpn-resnet18", in_channels: int = 3, **options: str) -> torch.nn.Module:
    return build_model(name, spatial_dims=2, in_channels=in_channels, out_channels=2, **options)


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    """A ResNet-18 encoder whose weights no fresh one has."""
    torch.manual_seed(5)
    return {key: value.clone() for key, value in make().encoder.state_dict().items()}


@pytest.fixture(scope="module")
def weights50() -> dict[str, torch.Tensor]:
    """A ResNet-50 encoder with running statistics that differ from a fresh one's."""
    torch.manual_seed(6)
    state = make("fpn-resnet50").encoder.state_dict()
    return {
        key: value.clone() + (0.1 * torch.rand(value.shape) if "running" in key else 0) for key, value in state.items()
    }


def resnet50_v1(weights: dict[str, torch.Tensor], images: torch.Tensor) -> list[torch.Tensor]:
    """The features of ResNet-50 as first published, written out: the stride of 2 on the first 1×1 of a layer."""

    def norm(values, key):
        mean, var = weights[key + ".running_mean"], weights[key + ".running_var"]
        return functional.batch_norm(values, mean, var, weights[key + ".weight"], weights[key + ".bias"])

    hidden = functional.relu(norm(functional.conv2d(images, weights["conv1.weight"], stride=2, padding=3), "bn1"))
    features = [images, hidden]
    hidden = functional.max_pool2d(hidden, 3, 2, 1)
    for layer, blocks in enumerate((3, 4, 6, 3), start=1):
        for block in range(blocks):
            at = f"layer{layer}.{block}"
            stride = 2 if block == 0 and layer > 1 else 1
            inner = functional.conv2d(hidden, weights[at + ".conv1.weight"], stride=stride)
            inner = functional.relu(norm(inner, at + ".bn1"))
            inner = functional.relu(
                norm(functional.conv2d(inner, weights[at + ".conv2.weight"], padding=1), at + ".bn2")
            )
            inner = norm(functional.conv2d(inner, weights[at + ".conv3.weight"]), at + ".bn3")
            if block == 0:
                hidden = norm(
                    functional.conv2d(hidden, weights[at + ".downsample.0.weight"], stride=stride), at + ".downsample.1"
                )
            hidden = functional.relu(hidden + inner)
        features.append(hidden)
    return features


def assert_same_features(ours, reference):
    for one, other in zip(ours, reference, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4 * float(other.abs().max()))


@torch.no_grad()
def test_v1_strides_give_the_features_of_the_first_resnet(weights50, tmp_path):
    path = tmp_path / "resnet50-v1.pth"
    torch.save(weights50, path)
    images = torch.randn(1, 3, 64, 64)
    reference = resnet50_v1(weights50, images)
    v1 = make("fpn-resnet50", encoder_weights=str(path))
    assert_same_features(v1.eval().encoder(images), reference)
    other = make("fpn-resnet50", encoder_weights=str(path), encoder_stride="v1.5").eval().encoder(images)
    torch.testing.assert_close(other[2], reference[2], rtol=1e-4, atol=1e-4)  # no stride moves before layer2
    assert float((other[5] - reference[5]).abs().max()) > 0.1 * float(reference[5].abs().max())
    # a checkpoint of it brings its strides along into a network that knows nothing of the file
    again = make("fpn-resnet50")
    again.load_state_dict(v1.state_dict())
    assert_same_features(again.eval().encoder(images), reference)
    assert again.encoder.layer2[0].conv1.stride == (2, 2)
    assert again.encoder.layer2[1].conv1.stride == (1, 1)


@pytest.mark.skipif(not SHARED.exists(), reason="the ImageNet weights are not on this machine")
@torch.no_grad()
def test_imagenet_weights_of_the_v1_layout():
    from safetensors.torch import load_file

    weights = {key: value.float() for key, value in load_file(SHARED).items()}
    model = make("fpn-resnet50", encoder_weights=str(SHARED)).eval()
    assert torch.equal(model.encoder.conv1.weight, weights["conv1.weight"])
    images = torch.randn(1, 3, 64, 64)
    assert_same_features(model.encoder(images), resnet50_v1(weights, images))


@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".pth"])
def test_half_precision_files_are_loaded_in_full(weights, tmp_path, suffix):
    path = tmp_path / f"weights{suffix}"
    halves = {key: value.half() if value.is_floating_point() else value for key, value in weights.items()}
    save_file(halves, path) if suffix == ".safetensors" else torch.save(halves, path)
    encoder = make(encoder_weights=str(path)).encoder
    for key, value in encoder.state_dict().items():
        assert torch.equal(value, halves[key].to(value.dtype)), key
    assert encoder.conv1.weight.dtype == torch.float32


def test_a_classifier_as_torchvision_saves_it(weights, tmp_path):
    """Its head is left out; old files count no batches; some nest the tensors."""
    state = {key: value for key, value in weights.items() if "num_batches" not in key}
    torch.save({"state_dict": {**state, "fc.weight": torch.zeros(1000, 512)}, "epoch": 90}, tmp_path / "whole.pth")
    encoder = make(encoder_weights=str(tmp_path / "whole.pth")).encoder
    assert torch.equal(encoder.layer4[1].conv2.weight, weights["layer4.1.conv2.weight"])


@pytest.mark.parametrize("channels", [1, 2, 5])
def test_other_input_channels_repeat_the_colours_in_turn(weights, tmp_path, channels):
    torch.save(weights, tmp_path / "rgb.pth")
    conv = make(in_channels=channels, encoder_weights=str(tmp_path / "rgb.pth")).encoder.conv1
    # channel c repeats colour c mod 3, scaled by 3 / channels; one channel is the sum
    original = weights["conv1.weight"]
    for channel in range(channels):
        wanted = original.sum(1) if channels == 1 else original[:, channel % 3] * 3 / channels
        torch.testing.assert_close(conv.weight[:, channel], wanted)


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("resnet50-imagenet-v1-fp16.safetensors", "v1"),
        ("resnet50_v1.pth", "v1"),
        ("ResNet50-V1.pt", "v1"),
        ("resnet50_v1.5.pth", "v1.5"),
        ("resnet50-v1b.pth", "v1.5"),
        ("resnet50-IMAGENET1K_V1.pth", "v1.5"),
        ("resnet50-0676ba61.pth", "v1.5"),
        ("dev1/resnet50.pth", "v1.5"),
    ],
)
def test_the_stride_layout_by_name(name, layout):
    assert stride_layout(name) == layout


def test_metadata_outweighs_the_name(weights, tmp_path):
    path = tmp_path / "resnet-v1.safetensors"
    save_file(weights, path, metadata={"stride": "v1.5"})
    assert stride_layout(path) == "v1.5"
    save_file(weights, path, metadata={"stride": "v3"})
    with pytest.raises(BadInput, match=r"metadata 'stride' must be v1 or v1\.5, it is 'v3'"):
        make(encoder_weights=str(path))


def test_bad_files_are_told_what_is_wrong(weights, tmp_path):
    def said(path: Path, text: str) -> None:
        with pytest.raises(BadInput, match=re.escape(text)):
            make(encoder_weights=str(path))

    said(tmp_path / "none.pth", "there is no such file")
    (tmp_path / "weights.bin").write_bytes(b"")
    said(tmp_path / "weights.bin", "must end in one of .safetensors, .pt, .pth")
    for name in ("broken.pth", "broken.safetensors"):
        (tmp_path / name).write_bytes(b"not weights at all")
        said(tmp_path / name, f"{name}' cannot be read")
    torch.save([1, 2], tmp_path / "list.pth")
    said(tmp_path / "list.pth", "wanted a dictionary of tensors")
    torch.save({"model": object}, tmp_path / "code.pth")
    said(tmp_path / "code.pth", "code.pth' cannot be read")  # weights_only refuses anything but tensors
    torch.save({**weights, "layer9.weight": torch.zeros(1)}, tmp_path / "more.pth")
    said(tmp_path / "more.pth", "do not fit the encoder: 1 unknown ('layer9.weight'); it wants 120 tensors")
    less = {key: value for key, value in weights.items() if not key.startswith("layer4.1.")}
    torch.save(less, tmp_path / "less.pth")
    said(tmp_path / "less.pth", "10 missing ('layer4.1.conv1.weight', 'layer4.1.bn1.weight', 'layer4.1.bn1.bias', …);")
    torch.save({**weights, "bn1.weight": torch.zeros(65)}, tmp_path / "shape.pth")
    said(tmp_path / "shape.pth", "'bn1.weight' has the shape (65,), the encoder wants (64,)")
