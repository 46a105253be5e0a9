"""Weights that stayed on the CPU, where the kernel can read them."""

import torch
from torch import Tensor

from sizewise.stats.kernels.kept_tensors import kept_tensor


class Mirror:
    """A number in a tensor of the CPU, and its copy on another device, which is written when the number has changed.

    >>> weight = torch.tensor(0.1)
    >>> mirror = Mirror(weight, torch.device("cpu"))
    >>> _ = weight.fill_(0.5)
    >>> mirror.refresh()
    >>> float(mirror.copy)
    0.5
    """

    def __init__(self, original: Tensor, device: torch.device) -> None:
        self.original = original
        self.number = original.item()
        self.copy = kept_tensor(device, lambda: torch.full((), self.number, dtype=original.dtype, device=device))

    def refresh(self) -> None:
        """Bring the copy up to date, without waiting for the device."""
        number = self.original.item()
        if number != self.number:
            self.number = number
            self.copy.fill_(number)
