"""Images of any size for networks that halve it several times: pad at the far ends, crop the logits."""

from torch import Tensor
from torch.nn import functional


def pad_to_multiple(images: Tensor, multiple: int) -> tuple[Tensor, tuple[slice, ...]]:
    """Pad (N, C, *S) with zeros at the end of each axis, up to the next ``multiple``.

    Returns:
        the padded images, and the index that takes the original pixels out of anything shaped like them. Images that
        fit come back as they are, without a copy.

    >>> import torch
    >>> padded, inside = pad_to_multiple(torch.ones(1, 3, 30, 65), 32)
    >>> padded.shape, padded[inside].shape
    (torch.Size([1, 3, 32, 96]), torch.Size([1, 3, 30, 65]))
    """
    spatial = images.shape[2:]
    missing = [-size % multiple for size in spatial]
    inside = (slice(None), slice(None), *(slice(size) for size in spatial))
    if not any(missing):
        return images, inside
    return functional.pad(images, [pad for size in reversed(missing) for pad in (0, size)]), inside
