"""What the integrations share: a loss from its name, and label maps as other libraries hand them."""

import torch
from torch import Tensor

from sizewise.criterion import Criterion, Loss
from sizewise.losses import loss
from sizewise.stats.inputs import plain

NOT_A_LABEL = -(2**31)  # no class has it: the criterion reports it as it reports any stray label


def as_loss(
    where: str,
    criterion: str | Criterion,
    *,
    activation: str = "softmax",
    ignore_index: int | None = None,
) -> Loss:
    """The loss of that name, or the criterion itself, that reads its input in the given way.

    >>> as_loss("MonaiLoss", "RCE", ignore_index=255)
    Loss(CrossEntropy() + SizeL1(), ignore_index=255)
    """
    if isinstance(criterion, str):
        return loss(criterion, activation=activation, ignore_index=ignore_index)
    if not isinstance(criterion, Criterion):
        raise TypeError(
            f"{where}: criterion must be the name of a loss, as 'RCE', or a sizewise loss, got "
            f"{type(criterion).__name__} {criterion!r}."
        )
    return Loss(criterion, activation=activation, ignore_index=ignore_index)


def read_target(where: str, criterion: Criterion, logits: Tensor, target: Tensor) -> Tensor:
    """The target in the form that the criterion takes: label maps as integers, one sigmoid channel as (N, 1, *S).

    Float targets in the logits' shape are probabilities and stay as they are, except that with ``ignore_index`` those
    of sigmoid channels are labels, since a probability cannot say that a pixel has none.
    """
    target, logits = plain(where, "target", target), plain(where, "logits", logits)
    if not target.is_floating_point():
        return target
    sigmoid = criterion.activation == "sigmoid"
    if sigmoid and logits.shape[1] == 1 and target.dim() == logits.dim() - 1:
        target = target.unsqueeze(1)
    if target.shape == logits.shape and not (sigmoid and criterion.ignore_index is not None):
        return target
    return integer_labels(where, target)


def integer_labels(where: str, target: Tensor) -> Tensor:
    """Float labels, as transforms leave them, as integers; labels between two classes are an error.

    On a GPU nothing waits for the check: a label that is not whole becomes one that no class has, and the loss reports
    it as any other stray label (NaN at once, the error with the next call or ``sizewise.check()``).

    >>> integer_labels("MonaiLoss", torch.tensor([[0.0, 2.0]])).tolist()
    [[0, 2]]
    """
    whole = target.long()
    exact = whole == target
    if target.device.type == "cpu" and not bool(exact.all()):
        raise ValueError(
            f"{where}: target holds {float(target[~exact][0]):g}, which is no whole label. Labels have to be "
            "transformed with nearest neighbours (mode='nearest')."
        )
    return torch.where(exact, whole, NOT_A_LABEL)
