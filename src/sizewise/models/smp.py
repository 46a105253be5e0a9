"""The networks of segmentation_models.pytorch by ``ARCH-ENCODER``, with weights for the encoder."""

import warnings
from contextlib import nullcontext
from types import ModuleType
from typing import Any

from torch import nn

from sizewise.checks import closest
from sizewise.errors import BadInput
from sizewise.models.encoder_weights import (
    check_file,
    follow_strides,
    is_resnet,
    load_encoder_weights,
    stride_layout,
    use_v1_strides,
)
from sizewise.models.hub import hub_host, hub_or_cache
from sizewise.models.torchvision_ops import import_with_torchvision

# known without importing the library; a test compares them with its own list
ARCHITECTURES = (
    "unet",
    "unetplusplus",
    "manet",
    "linknet",
    "fpn",
    "pspnet",
    "deeplabv3",
    "deeplabv3plus",
    "pan",
    "upernet",
    "segformer",
    "dpt",
)
SIZE_MULTIPLE = 32  # every encoder halves five times


def import_smp() -> ModuleType:
    """segmentation_models_pytorch, also next to a torchvision that was built for another torch."""
    return import_with_torchvision(
        "segmentation_models_pytorch", extra="train", reason="a network of segmentation_models.pytorch"
    )


def build_smp(
    arch: str, encoder: str, *, in_channels: int, out_channels: int, encoder_weights: str, encoder_stride: str
) -> nn.Module:
    """A 2D network that returns raw scores; see :func:`sizewise.models.build.build_model` for the arguments."""
    smp = import_smp()
    encoder = _known_encoder(smp, encoder)
    file = None if encoder_weights in ("none", "imagenet") else check_file(encoder_weights)
    options: dict[str, Any] = {"dynamic_img_size": True} if arch == "dpt" else {}
    fetched = encoder_weights == "imagenet"
    reachable = True
    try:
        with warnings.catch_warnings(), hub_or_cache() if fetched else nullcontext(True) as reachable:
            warnings.simplefilter("ignore")  # about names of encoders; ours are checked above
            model = smp.create_model(
                arch,
                encoder_name=encoder,
                encoder_weights="imagenet" if fetched else None,
                in_channels=in_channels,
                classes=out_channels,
                **options,
            )
    except OSError as error:
        why = (
            f"could not be fetched: {_first_line(error)}"
            if reachable
            else f"are not on this machine, and {hub_host()[0]} cannot be reached."
        )
        raise BadInput(
            f"the ImageNet weights of encoder {encoder!r} {why} Check the connection, or give a local file "
            "(`encoder_weights=PATH`), or start without (`encoder_weights=none`)."
        ) from error
    except (KeyError, ValueError, RuntimeError, AssertionError, TypeError) as error:
        raise BadInput(f"model {arch}-{encoder}: the two cannot be put together: {_first_line(error)}") from error
    if file is not None:
        load_encoder_weights(model.encoder, file)
    if is_resnet(model.encoder):
        follow_strides(model.encoder)
        if encoder_stride == "v1" or (encoder_stride == "auto" and file is not None and stride_layout(file) == "v1"):
            use_v1_strides(model.encoder)
    elif encoder_stride == "v1":
        raise BadInput(f"model {arch}-{encoder}: encoder_stride='v1' is a layout of ResNets, and this is not one.")
    return model


def _known_encoder(smp: ModuleType, encoder: str) -> str:
    names = smp.encoders.get_encoder_names()
    if encoder.startswith("tu-"):
        return encoder  # any network of timm: SMP finds out
    by_folded = {name.lower(): name for name in names}
    if encoder.lower() not in by_folded and not smp.encoders.is_equivalent_to_timm_universal(encoder):
        raise BadInput(
            f"there is no encoder {encoder!r}.{closest(encoder, names)} The encoders are {', '.join(names)}; "
            "and tu-NAME for any network NAME of timm."
        )
    return by_folded.get(encoder.lower(), encoder)


def _first_line(error: Exception) -> str:
    text = str(error.args[0]) if error.args else str(error)
    line = (text.splitlines() or [type(error).__name__])[0].strip()
    return line if line.endswith(".") else line + "."
