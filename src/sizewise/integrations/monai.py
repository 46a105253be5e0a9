"""Our losses where MONAI expects one of its own: networks, engines, deep supervision, bundles."""

from typing import Any

from torch import Tensor, nn

from sizewise.criterion import Criterion
from sizewise.integrations.reading import as_loss, read_target


class MonaiLoss(nn.Module):
    """A loss that is called as MONAI calls its losses: ``loss(input, target)``, labels (N, 1, *S), often as floats.

    It goes wherever a ``monai.losses`` object goes: ``SupervisedTrainer(loss_function=...)``,
    ``monai.losses.DeepSupervisionLoss(...)``, a bundle's config. A ``MetaTensor`` is read as the tensor that it is.

    Args:
        criterion: the name of a loss, as ``"RCE"``, or any criterion, as ``sw.CrossEntropy() + 0.1 * sw.Dice()``.
        activation: ``"softmax"`` over the channels, or ``"sigmoid"`` for each.
        ignore_index: the label of pixels without a label.

    Targets are label maps, (N, 1, *S) or (N, *S), of any dtype, or one channel per class, (N, K, *S): float for
    softmax (what ``to_onehot_y`` and ``AsDiscrete(to_onehot=K)`` make), any dtype for sigmoid.

    >>> import torch
    >>> criterion = MonaiLoss("RCE")
    >>> loss = criterion(torch.randn(1, 3, 8, 8, 8), torch.randint(0, 3, (1, 1, 8, 8, 8)).float())

    In a bundle's ``train.json``::

        "loss": {"_target_": "sizewise.integrations.monai.MonaiLoss", "criterion": "RCE"}
    """

    def __init__(
        self, criterion: str | Criterion, *, activation: str = "softmax", ignore_index: int | None = None
    ) -> None:
        super().__init__()
        self.criterion = as_loss("MonaiLoss", criterion, activation=activation, ignore_index=ignore_index)

    def forward(self, input: Tensor, target: Tensor, cells: Any = None) -> Tensor:
        """The loss of raw scores ``input`` (N, K, *S); ``cells`` as for a criterion, found if not given."""
        return self.criterion(input, read_target("MonaiLoss", self.criterion, input, target), cells=cells)
