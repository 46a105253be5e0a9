"""MONAI's networks in 2D and 3D, each in one stated configuration."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from sizewise.errors import import_extra


@dataclass(frozen=True)
class MonaiNet:
    """A network in one configuration.

    Attributes:
        summary: one line for tables.
        size_multiple: what every spatial size has to be a multiple of.
        build: takes ``spatial_dims``, ``in_channels`` and ``out_channels``.
    """

    summary: str
    size_multiple: int
    build: Callable[[int, int, int], nn.Module]


def unet(spatial_dims: int, in_channels: int, out_channels: int) -> nn.Module:
    """MONAI's residual UNet: five levels of 16 to 256 channels, two residual units each, instance norm."""
    return _nets().UNet(
        spatial_dims=spatial_dims,
        in_channels=in_channels,
        out_channels=out_channels,
        channels=(16, 32, 64, 128, 256),
        strides=(2, 2, 2, 2),
        num_res_units=2,
    )


def small_unet(spatial_dims: int, in_channels: int, out_channels: int) -> nn.Module:
    """The same with three levels of 16 to 64 channels and one unit each: it learns something on a laptop's CPU.

    Batch norm, because instance norm takes the mean intensity of an image out, and with it the size of what is bright.
    """
    return _nets().UNet(
        spatial_dims=spatial_dims,
        in_channels=in_channels,
        out_channels=out_channels,
        channels=(16, 32, 64),
        strides=(2, 2),
        num_res_units=1,
        norm="batch",
    )


def dynunet(spatial_dims: int, in_channels: int, out_channels: int) -> nn.Module:
    """MONAI's DynUNet as nnU-Net shapes it: five levels from 32 channels on, instance norm, leaky ReLU."""
    levels = 5
    strides = [1] + [2] * (levels - 1)
    return _nets().DynUNet(
        spatial_dims=spatial_dims,
        in_channels=in_channels,
        out_channels=out_channels,
        kernel_size=[3] * levels,
        strides=strides,
        upsample_kernel_size=strides[1:],
    )


def segresnet(spatial_dims: int, in_channels: int, out_channels: int) -> nn.Module:
    """MONAI's SegResNet with 16 filters; transposed convolutions, whose gradients are reproducible on a GPU."""
    return _nets().SegResNet(
        spatial_dims=spatial_dims,
        in_channels=in_channels,
        out_channels=out_channels,
        init_filters=16,
        upsample_mode="deconv",
    )


MONAI_NETS = {
    "monai-unet": MonaiNet("residual UNet, five levels of 16 to 256 channels", 16, unet),
    "monai-unet-small": MonaiNet("UNet of three levels, 16 to 64 channels, for a CPU", 4, small_unet),
    "monai-dynunet": MonaiNet("nnU-Net's network, five levels from 32 channels on", 16, dynunet),
    "monai-segresnet": MonaiNet("residual network, four levels of 16 to 128 channels", 8, segresnet),
}


def _nets():  # noqa: ANN202 a module with its own types
    return import_extra("monai.networks.nets", extra="train", reason="a MONAI network")
