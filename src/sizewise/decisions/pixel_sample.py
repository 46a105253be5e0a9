"""A thinned copy of many predictions: one number is fitted on it, so a share of the pixels is enough."""

from torch import Tensor

VALUES = 1 << 25  # logits that are kept of all cases together, 128 MiB: millions of pixels, for one number


def pixel_step(values: int, *, most: int = VALUES) -> int:
    """Every how-many-th pixel is kept of predictions with so many logits in all; 1 keeps them all.

    The step is odd: an even one would meet the same columns of an image in every row.

    >>> pixel_step(1000), pixel_step(10 * VALUES)
    (1, 11)
    """
    step = -(-values // most)
    return step if step == 1 else step | 1


def thinned(logits: Tensor, target: Tensor, *, step: int) -> tuple[Tensor, Tensor]:
    """Every ``step``-th pixel of a case as one row of pixels, in the form of a batch of :func:`fit_decision`.

    Args:
        logits: (K, *S).
        target: (*S), or (K, *S) for channels that are problems of their own.
        step: see :func:`pixel_step`.

    Returns:
        (1, K, n) and (1, n), or (1, K, n) twice.

    >>> import torch
    >>> logits, target = thinned(torch.zeros(2, 4, 5), torch.zeros(4, 5), step=3)
    >>> logits.shape, target.shape
    (torch.Size([1, 2, 7]), torch.Size([1, 7]))
    """
    channels = logits.dim() == target.dim()
    rows = target.flatten(1) if channels else target.flatten()[None]
    kept = rows[:, ::step].clone()
    return logits.flatten(1)[:, ::step].clone()[None], kept[None] if channels else kept
