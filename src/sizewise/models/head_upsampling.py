"""Heads that upsample their logits: in training the loss can do that, without storing them at full size."""

from torch import Tensor, nn


class HeadUpsampling(nn.Module):
    """A head's upsampling when the network is evaluated; in training the logits stay small."""

    def __init__(self, upsampling: nn.Upsample) -> None:
        super().__init__()
        self.upsampling = upsampling

    def forward(self, logits: Tensor) -> Tensor:
        return logits if self.training else self.upsampling(logits)


def leave_upsampling_to_loss(model: nn.Module) -> str | None:
    """Make a network of SMP give small logits in training; what ``upsample`` its loss then needs, None for no change.

    The network has no other parameters than before, and evaluated it gives what it gave.

    >>> import torch
    >>> head = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Upsample(scale_factor=4, mode="bilinear"), nn.Identity())
    >>> model = nn.Module()
    >>> model.segmentation_head = head
    >>> leave_upsampling_to_loss(model)
    'linear'
    >>> head(torch.zeros(1, 1, 8, 8)).shape, head.eval()(torch.zeros(1, 1, 8, 8)).shape
    (torch.Size([1, 2, 8, 8]), torch.Size([1, 2, 32, 32]))
    """
    head = getattr(model, "segmentation_head", None)
    if not isinstance(head, nn.Sequential):
        return None
    for place, layer in enumerate(head):
        after = list(head)[place + 1 :]
        if isinstance(layer, nn.Upsample) and layer.mode == "bilinear" and all(does_nothing(one) for one in after):
            head[place] = HeadUpsampling(layer)
            head.train(model.training)
            return "linear-corners" if layer.align_corners else "linear"
    return None


def does_nothing(layer: nn.Module) -> bool:
    """Whether a layer, or all that it holds, is the identity: SMP's activation of raw scores."""
    inner = list(layer.children())
    return isinstance(layer, nn.Identity) or (bool(inner) and all(does_nothing(one) for one in inner))
