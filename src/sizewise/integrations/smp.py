"""Our losses with the modes and targets of segmentation_models.pytorch."""

from torch import Tensor, nn

from sizewise.checks import check_word
from sizewise.criterion import Criterion
from sizewise.integrations.reading import as_loss, read_target

ACTIVATION_OF_MODE = {"binary": "sigmoid", "multiclass": "softmax", "multilabel": "sigmoid"}


class SmpLoss(nn.Module):
    """A loss that is called as SMP calls its losses: ``loss(y_pred, y_true)`` in one of three modes.

    ============  =============  ==================================  ========================================
    mode          ``y_pred``     ``y_true``                          is here
    ============  =============  ==================================  ========================================
    binary        (N, 1, H, W)   (N, H, W) or (N, 1, H, W), 0 and 1  ``activation="sigmoid"``, one channel
    multiclass    (N, C, H, W)   (N, H, W), labels 0 … C−1           ``activation="softmax"``
    multilabel    (N, C, H, W)   (N, C, H, W), 0 and 1               ``activation="sigmoid"``, C channels
    ============  =============  ==================================  ========================================

    Targets may be integers or floats, as in SMP.

    Args:
        criterion: the name of a loss, as ``"RCE"``, or any criterion, as ``sw.CrossEntropy() + 0.1 * sw.Dice()``.
        mode: of the three above.
        ignore_index: the label of pixels without a label.

    >>> import torch
    >>> criterion = SmpLoss("RCE", mode="binary")
    >>> loss = criterion(torch.randn(2, 1, 8, 8), torch.randint(0, 2, (2, 8, 8)).float())
    """

    def __init__(self, criterion: str | Criterion, *, mode: str, ignore_index: int | None = None) -> None:
        super().__init__()
        self.mode = check_word("SmpLoss", "mode", mode, ACTIVATION_OF_MODE)
        self.criterion = as_loss(
            "SmpLoss", criterion, activation=ACTIVATION_OF_MODE[self.mode], ignore_index=ignore_index
        )

    def forward(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """The loss of raw scores ``y_pred``; the network must have been built with ``activation=None``."""
        if self.mode == "binary" and y_pred.shape[1] != 1:
            raise ValueError(
                f"SmpLoss: mode 'binary' wants one channel, y_pred has shape {tuple(y_pred.shape)}. Build the network "
                "with classes=1, or use mode 'multiclass' or 'multilabel'."
            )
        return self.criterion(y_pred, read_target("SmpLoss", self.criterion, y_pred, y_true))

    def extra_repr(self) -> str:
        return f"mode={self.mode!r}"
