"""Networks by name: those of the paper, any of segmentation_models.pytorch, and MONAI's in 2D and 3D."""

from typing import Any

from torch import nn

from sizewise.checks import closest
from sizewise.errors import BadInput
from sizewise.models.encoder_weights import STRIDES
from sizewise.models.monai_nets import MONAI_NETS
from sizewise.models.smp import ARCHITECTURES, SIZE_MULTIPLE, build_smp
from sizewise.user_code import import_named, is_user_code

PAPER_NAMES = {
    "r50-fpn": "fpn-resnet50",
    "r50-unet": "unet-resnet50",
    "r101-fpn": "fpn-resnet101",
    "r101-unet": "unet-resnet101",
    "3d-unet": "monai-dynunet",
}


def build_model(
    name: str,
    *,
    spatial_dims: int,
    in_channels: int,
    out_channels: int,
    encoder_weights: str = "none",
    encoder_stride: str = "auto",
    deep_supervision: bool = False,
) -> nn.Module:
    """A network that maps images (N, C, *S) to raw scores (N, K, *S), for sizes that :func:`size_multiple` divides.

    Args:
        name: one of :func:`model_names`; ``ARCH-ENCODER`` for any architecture and encoder of
            segmentation_models.pytorch, as ``deeplabv3plus-resnet34``; the paper's words, as ``R50-FPN``; or
            ``package.module:build`` of your own, a function of ``spatial_dims``, ``in_channels`` and ``out_channels``.
            Its attribute ``size_multiple``, if it has one, says what sizes must be divisible by; else that is 32.
        spatial_dims: 2 or 3; SMP's networks are 2D.
        in_channels: the first convolution of a trained encoder is adapted to them.
        out_channels: classes, or channels of a sigmoid.
        encoder_weights: ``"none"``, ``"imagenet"`` (fetched by SMP), or a local file; see
            :func:`~sizewise.models.encoder_weights.load_encoder_weights`.
        encoder_stride: of a ResNet: ``"v1.5"`` as torchvision, ``"v1"`` with the stride on the first 1×1, or
            ``"auto"``: what the file of weights needs, see :func:`~sizewise.models.encoder_weights.stride_layout`.

        deep_supervision: in training the network returns a list of logits, the full resolution first; a network of your
            own has to do so by itself.

    Weights are drawn from torch's global generator. In training, normalisation needs more than one value per channel
    at the lowest resolution: one image at exactly the size multiple is too small (for instance norm, any number).

    >>> import torch
    >>> model = build_model("monai-unet-small", spatial_dims=2, in_channels=1, out_channels=3)
    >>> model(torch.zeros(2, 1, 16, 16)).shape
    torch.Size([2, 3, 16, 16])
    """
    name = canonical_name(name)
    if encoder_stride not in STRIDES:
        raise BadInput(f"model {name}: encoder_stride must be one of {', '.join(STRIDES)}, got {encoder_stride!r}.")
    if spatial_dims not in (2, 3):
        raise BadInput(f"model {name}: spatial_dims must be 2 or 3, got {spatial_dims!r}.")
    if in_channels < 1 or out_channels < 1:
        raise BadInput(
            f"model {name}: it needs at least one channel in and one out, got in_channels={in_channels} and "
            f"out_channels={out_channels}."
        )
    if is_user_code(name):
        return _users_own(name, spatial_dims, in_channels, out_channels)
    if name in MONAI_NETS:
        if encoder_weights != "none" or encoder_stride != "auto":
            raise BadInput(
                f"model {name} has no encoder with weights of its own; encoder_weights must be 'none', got "
                f"{encoder_weights!r}. Models with one are ARCH-ENCODER, as fpn-resnet50."
            )
        build = MONAI_NETS[name].build_deep if deep_supervision else MONAI_NETS[name].build
        if build is None:
            raise _not_deep(name)
        return build(spatial_dims, in_channels, out_channels)
    if deep_supervision:
        raise _not_deep(name)
    if spatial_dims != 2:
        raise BadInput(f"model {name} is for 2D images and the data is 3D. In 3D there are {', '.join(MONAI_NETS)}.")
    arch, _, encoder = name.partition("-")
    return build_smp(
        arch,
        encoder,
        in_channels=in_channels,
        out_channels=out_channels,
        encoder_weights=encoder_weights,
        encoder_stride=encoder_stride,
    )


def model_names() -> tuple[str, ...]:
    """The names to offer: the paper's networks and MONAI's. Any other ``ARCH-ENCODER`` of SMP is known too.

    >>> "fpn-resnet50" in model_names(), "monai-unet" in model_names()
    (True, True)
    """
    return tuple(dict.fromkeys((*PAPER_NAMES.values(), *MONAI_NETS)))


def canonical_name(name: str) -> str:
    """The name that files and tables carry, from any spelling of it. The encoder is not looked up yet.

    >>> canonical_name("R50-FPN"), canonical_name("DeepLabV3Plus-resnet34")
    ('fpn-resnet50', 'deeplabv3plus-resnet34')
    """
    if is_user_code(name):
        return name.strip()
    folded = name.strip().lower()
    folded = PAPER_NAMES.get(folded, folded)
    if folded in MONAI_NETS:
        return folded
    arch, _, encoder = folded.partition("-")
    if arch in ARCHITECTURES and encoder:
        return folded
    if arch in ARCHITECTURES:
        raise BadInput(f"model {name!r} lacks its encoder: write {arch}-resnet50, or another encoder of SMP.")
    raise BadInput(
        f"there is no model {name!r}.{closest(name, (*model_names(), *PAPER_NAMES))} The models are "
        f"{', '.join(model_names())}; and ARCH-ENCODER of segmentation_models.pytorch, as deeplabv3plus-resnet34, "
        f"where ARCH is one of {', '.join(ARCHITECTURES)}."
    )


def size_multiple(name: str) -> int:
    """What every spatial size of the input has to be a multiple of.

    Use :func:`~sizewise.models.padding.pad_to_multiple` on other sizes.

    >>> size_multiple("fpn-resnet50"), size_multiple("monai-unet-small")
    (32, 4)
    """
    name = canonical_name(name)
    if is_user_code(name):
        return int(getattr(_imported(name), "size_multiple", SIZE_MULTIPLE))
    return MONAI_NETS[name].size_multiple if name in MONAI_NETS else SIZE_MULTIPLE


def _not_deep(name: str) -> BadInput:
    deep = ", ".join(one for one, net in MONAI_NETS.items() if net.build_deep is not None)
    return BadInput(
        f"model {name} has no outputs of several resolutions for `deep_supervision`. Take {deep}, or a network of your "
        "own that returns a list of logits in training, or leave it out."
    )


def _users_own(place: str, spatial_dims: int, in_channels: int, out_channels: int) -> nn.Module:
    build = _imported(place)
    if not callable(build):
        raise BadInput(f"model {place}: wanted a function that makes a network, got {type(build).__name__}.")
    try:
        made = build(spatial_dims=spatial_dims, in_channels=in_channels, out_channels=out_channels)
    except TypeError as error:
        raise BadInput(
            f"model {place}: it is called with spatial_dims, in_channels and out_channels, and answers: {error}."
        ) from error
    if not isinstance(made, nn.Module):
        raise BadInput(f"model {place}: it must return an nn.Module, got {type(made).__name__}.")
    return made


def _imported(place: str) -> Any:
    try:
        return import_named(place)
    except ValueError as error:
        raise BadInput(f"model {error}") from error
