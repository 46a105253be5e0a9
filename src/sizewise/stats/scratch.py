"""Buffers that all chunks of a call share, and sums over pixels or classes that use no more of them."""

from math import prod

import torch
from torch import Tensor


class Scratch:
    """Hands out the same memory under a name again and again.

    A fresh buffer for every result would cost more in page faults than the arithmetic in it.
    """

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self.dtype, self.device = dtype, device
        self.one = torch.ones((), dtype=dtype, device=device)
        self._flat: dict[str, Tensor] = {}
        self._views: dict[tuple[str, tuple[int, ...]], Tensor] = {}

    def __call__(self, name: str, *shape: int) -> Tensor:
        """An uninitialised tensor; it is valid until the name is asked for again."""
        view = self._views.get((name, shape))
        if view is None:
            size = prod(shape)
            flat = self._flat.get(name)
            if flat is None or flat.numel() < size:
                flat = self._flat[name] = torch.empty(size, dtype=self.dtype, device=self.device)
                self._views = {key: one for key, one in self._views.items() if key[0] != name}
            view = self._views[name, shape] = flat[:size].view(shape)
        return view


def sum_over_pixels(values: Tensor, weights: Tensor, scratch: Scratch) -> Tensor:
    """Σ_i values_ki · weights_i: (B, K, M) and (B, M) to (B, K).

    On the CPU a matrix-vector product does both steps at once. Not ``bmm``: that may round its input to bfloat16 when
    a user allows it for matrix products, and these are sums.
    """
    if len(values) == 1 and values.device.type == "cpu":
        return values[0].mv(weights[0]).unsqueeze(0)
    return torch.mul(values, weights.unsqueeze(1), out=scratch("product", *values.shape)).sum(-1)


def sum_over_classes(values: Tensor, weights: Tensor, scratch: Scratch) -> Tensor:
    """Σ_k values_ki · weights_k: (B, K, M) and (B, K) to (B, M)."""
    if len(values) == 1 and values.device.type == "cpu":
        return values[0].t().mv(weights[0]).unsqueeze(0)
    return torch.mul(values, weights.unsqueeze(-1), out=scratch("product", *values.shape)).sum(1)
