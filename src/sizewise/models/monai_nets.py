"""MONAI's networks in 2D and 3D, each in one stated configuration."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from sizewise.errors import import_extra


@dataclass(frozen=True)
class MonaiNet:
    """A network in one configuration.

    Attributes:
        summary: one line for tables.
        size_multiple: what every spatial size has to be a multiple of.
        build: takes ``spatial_dims``, ``in_channels`` and ``out_channels``.
        build_deep: the same with outputs of several resolutions in training, where it can give them.
    """

    summary: str
    size_multiple: int
    build: Callable[[int, int, int], nn.Module]
    build_deep: Callable[[int, int, int], nn.Module] | None = None


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
    return _dynunet(spatial_dims, in_channels, out_channels, heads=0)


def deep_dynunet(spatial_dims: int, in_channels: int, out_channels: int) -> nn.Module:
    """The same, which in training also gives the logits of the next two resolutions, as a list."""
    return DeepDynUNet(_dynunet(spatial_dims, in_channels, out_channels, heads=2))


def _dynunet(spatial_dims: int, in_channels: int, out_channels: int, *, heads: int) -> nn.Module:
    levels = 5
    strides = [1] + [2] * (levels - 1)
    return _nets().DynUNet(
        spatial_dims=spatial_dims,
        in_channels=in_channels,
        out_channels=out_channels,
        kernel_size=[3] * levels,
        strides=strides,
        upsample_kernel_size=strides[1:],
        deep_supervision=heads > 0,
        deep_supr_num=max(heads, 1),
    )


class DeepDynUNet(nn.Module):
    """DynUNet with its heads as they are: MONAI's own output is enlarged to one size and stacked."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, images: Tensor) -> Tensor | list[Tensor]:
        """Logits (N, K, *S); in training a list, the full resolution first, each next one of half the size."""
        logits = self.net.output_block(self.net.skip_layers(images))  # type: ignore[operator]
        return [logits, *self.net.heads] if self.training else logits  # type: ignore[misc]


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
    "monai-dynunet": MonaiNet("nnU-Net's network, five levels from 32 channels on", 16, dynunet, deep_dynunet),
    "monai-segresnet": MonaiNet("residual network, four levels of 16 to 128 channels", 8, segresnet),
}


def _nets():  # noqa: ANN202 a module with its own types
    return import_extra("monai.networks.nets", extra="train", reason="a MONAI network")
