"""How nnU-Net hands over outputs and targets, and how a criterion reads them."""

from collections.abc import Sequence

from torch import Tensor, nn

from sizewise.criterion import Criterion, Loss
from sizewise.deep_supervision import DeepSupervision


class TrainerLoss(nn.Module):
    """A criterion on what nnU-Net's training step passes: one tensor each, or with deep supervision one per level.

    Labels come as (N, 1, *S). Regions (sigmoid) come as (N, C, *S); where the data set has an ignore label, a last
    channel marks its pixels.

    Args:
        criterion: the loss of one level, which knows activation and ignore label.
        level_weights: nnU-Net's weights of the levels, or ``None`` without deep supervision.
        ignore_channel: whether the last channel of the target marks pixels without a label.

    >>> import torch, sizewise as sw
    >>> criterion = TrainerLoss(sw.loss("RCE"), level_weights=(2 / 3, 1 / 3))
    >>> outputs = [torch.zeros(1, 2, 8, 8), torch.zeros(1, 2, 4, 4)]
    >>> targets = [torch.zeros(1, 1, 8, 8).short(), torch.zeros(1, 1, 4, 4).short()]
    >>> round(float(criterion(outputs, targets)), 4)  # log 2, and the mean of |½ − 1| and |½ − 0|
    1.1931
    """

    def __init__(
        self, criterion: Loss, *, level_weights: Sequence[float] | None = None, ignore_channel: bool = False
    ) -> None:
        super().__init__()
        self.ignore_channel = ignore_channel
        self.criterion: Criterion | DeepSupervision = criterion
        if level_weights is not None:
            self.criterion = DeepSupervision(criterion, weights=[float(weight) for weight in level_weights])

    @property
    def inner(self) -> Criterion:
        """The loss of one level."""
        return self.criterion.criterion if isinstance(self.criterion, DeepSupervision) else self.criterion

    def forward(self, output: Tensor | Sequence[Tensor], target: Tensor | Sequence[Tensor]) -> Tensor:
        """The loss of one training step."""
        if not self.ignore_channel:
            return self.criterion(output, target)
        if isinstance(target, Tensor):
            return self.criterion(output, *split_ignore_channel(target))
        regions, masks = zip(*map(split_ignore_channel, target), strict=True)
        return self.criterion(output, regions, masks)


def split_ignore_channel(target: Tensor) -> tuple[Tensor, Tensor]:
    """The regions, and a mask (N, 1, *S) that is True where there is a label."""
    return target[:, :-1], target[:, -1:] == 0
