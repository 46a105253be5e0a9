"""Encoder weights from a local file: torchvision's key names, any precision, either layout of the strides."""

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sizewise.errors import BadInput, import_extra

SUFFIXES = (".safetensors", ".pt", ".pth")
STRIDES = ("auto", "v1", "v1.5")
HEADS = ("fc.", "classifier.", "last_linear.", "head.")  # what a classifier has and an encoder has not
V1 = re.compile(r"(?<![a-z0-9])(?<!imagenet1k[-_])v1(?![a-z0-9.])")  # not v1.5, v1b, v10, IMAGENET1K_V1


def load_encoder_weights(encoder: nn.Module, path: str | Path) -> None:
    """Copy the weights of a file into an encoder, in the encoder's precision.

    A classifier's head is left out. Where the encoder has other input channels than the file, the first convolution
    is adapted as SMP adapts it: one channel gets the sum over the file's channels, n channels repeat them in turn,
    scaled by (the file's number)/n so that what the next layer sees keeps its scale.

    Args:
        encoder: whose ``state_dict`` names the weights; for ResNets those are torchvision's names.
        path: ``.safetensors``, or ``.pt``, ``.pth`` as ``torch.save(state_dict)`` writes them.

    Raises:
        BadInput: when the file cannot be read, lacks a weight, has one too many, or one of another shape.
    """
    given = {key: value for key, value in _read(Path(path)).items() if not key.startswith(HEADS)}
    wanted = encoder.state_dict()
    first = _first_convolution(encoder)
    if first in given and first in wanted:
        given[first] = _with_channels(given[first], wanted[first].shape[1])
    missing = [key for key in wanted if key not in given and not key.endswith("num_batches_tracked")]
    extra = [key for key in given if key not in wanted]
    if missing or extra:
        raise BadInput(
            f"encoder weights {str(path)!r} do not fit the encoder: {_some('missing', missing)}"
            f"{_some('unknown', extra)}it wants {len(wanted)} tensors, named as {next(iter(wanted))!r}. Are they of "
            "another encoder?"
        )
    for key, value in given.items():
        if value.shape != wanted[key].shape:
            raise BadInput(
                f"encoder weights {str(path)!r}: {key!r} has the shape {tuple(value.shape)}, the encoder wants "
                f"{tuple(wanted[key].shape)}. Are they of another encoder?"
            )
    encoder.load_state_dict({**wanted, **given})  # copies into the encoder's dtype


def stride_layout(path: str | Path) -> str:
    """Where a ResNet's weights want the stride of 2: ``"v1"`` on the first 1×1 of a block, ``"v1.5"`` on its 3×3.

    Weights of both layouts have the same names and shapes, so that the tensors alone do not tell. What counts is the
    metadata ``stride`` of a safetensors file, else a ``v1`` that stands by itself in the file's name (torchvision's
    ``IMAGENET1K_V1`` is a version of its weights, not this), else torchvision's own layout, v1.5.

    >>> stride_layout("resnet50-imagenet-v1-fp16.safetensors"), stride_layout("resnet50_v1.5.pth")
    ('v1', 'v1.5')
    >>> stride_layout("resnet50-IMAGENET1K_V1.pth")
    'v1.5'
    """
    path = Path(path)
    if path.suffix == ".safetensors" and path.is_file():
        safetensors = import_extra("safetensors", extra="train", reason="reading encoder weights")
        try:
            with safetensors.safe_open(path, "pt") as file:
                said = (file.metadata() or {}).get("stride")
        except Exception as error:  # its errors have no common class; the reader below says the same
            raise _unreadable(path, error) from error
        if said is not None and said not in STRIDES[1:]:
            raise BadInput(
                f"encoder weights {str(path)!r}: their metadata 'stride' must be v1 or v1.5, it is {said!r}."
            )
        if said is not None:
            return said
    return "v1" if V1.search(path.stem.lower()) else "v1.5"


def use_v1_strides(encoder: nn.Module) -> None:
    """Move the stride of 2 in ``layer2.0``, ``layer3.0``, ``layer4.0`` from the 3×3 to the 1×1 before it.

    The encoder is marked by the buffer ``stride_on_conv1``, which travels in its checkpoints: loading one moves the
    strides of an encoder that :func:`follow_strides` watches. Blocks without a third convolution (ResNet-18 and -34)
    have one layout only.
    """
    for layer in ("layer2", "layer3", "layer4"):
        block: Any = encoder.get_submodule(layer)[0]  # type: ignore[index]
        if hasattr(block, "conv3") and block.conv2.stride != (1, 1):
            block.conv1.stride, block.conv2.stride = block.conv2.stride, (1, 1)
    encoder.register_buffer("stride_on_conv1", torch.tensor(True))


def follow_strides(encoder: nn.Module) -> None:
    """Let ``load_state_dict`` move the strides when the checkpoint is of an encoder with v1 strides."""
    encoder.register_load_state_dict_pre_hook(_move_strides)


def _move_strides(encoder: nn.Module, state_dict: dict[str, Tensor], prefix: str, *_: object) -> None:
    if prefix + "stride_on_conv1" in state_dict and not hasattr(encoder, "stride_on_conv1"):
        use_v1_strides(encoder)


def is_resnet(encoder: nn.Module) -> bool:
    """Whether it is built of torchvision's four layers of blocks."""
    return all(hasattr(encoder, name) for name in ("conv1", "layer1", "layer2", "layer3", "layer4"))


def check_file(path: str | Path) -> Path:
    """The path, if a weights file of a known kind is there."""
    path = Path(path).expanduser()
    if not path.is_file():
        raise BadInput(
            f"encoder weights must be 'imagenet', 'none' or a file, got {str(path)!r}, and there is no such file."
        )
    if path.suffix not in SUFFIXES:
        raise BadInput(f"encoder weights {str(path)!r}: the file must end in one of {', '.join(SUFFIXES)}.")
    return path


def _read(path: Path) -> dict[str, Tensor]:
    path = check_file(path)
    try:
        if path.suffix == ".safetensors":
            loaded = import_extra("safetensors.torch", extra="train", reason="reading encoder weights").load_file(path)
        else:
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except BadInput:
        raise
    except Exception as error:  # pickle, zip and header errors have no common class
        raise _unreadable(path, error) from error
    for key in ("state_dict", "model"):
        if isinstance(loaded, dict) and isinstance(loaded.get(key), dict):
            loaded = loaded[key]
    if not isinstance(loaded, dict) or not all(isinstance(value, Tensor) for value in loaded.values()):
        raise BadInput(f"encoder weights {str(path)!r}: wanted a dictionary of tensors, as model.state_dict() gives.")
    return loaded


def _unreadable(path: Path, error: Exception) -> BadInput:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return BadInput(
        f"encoder weights {str(path)!r} cannot be read: {reason} Wanted safetensors, or tensors alone as "
        "torch.save(model.state_dict()) writes them."
    )


def _first_convolution(encoder: nn.Module) -> str:
    return next((f"{name}.weight" for name, part in encoder.named_modules() if isinstance(part, nn.Conv2d)), "")


def _with_channels(weight: Tensor, channels: int) -> Tensor:
    given = weight.shape[1] if weight.dim() == 4 else channels
    if given == channels:
        return weight
    if channels == 1:
        return weight.float().sum(1, keepdim=True)
    return weight.float()[:, torch.arange(channels) % given] * (given / channels)


def _some(what: str, keys: list[str]) -> str:
    if not keys:
        return ""
    shown = ", ".join(repr(key) for key in keys[:3])
    return f"{len(keys)} {what} ({shown}{', …' if len(keys) > 3 else ''}); "
