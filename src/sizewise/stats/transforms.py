"""The pass under the transforms of ``torch.func``: gradients per sample and the like."""

from typing import Any

import torch
from torch import Tensor

from sizewise.stats.operator import region_gradient, region_sums

Reading = tuple[int | None, bool, list[int], list[float], str | None]
FORWARD_MODE = (
    "sizewise: losses have a reverse-mode derivative, and a forward-mode one (jvp, dual numbers) was asked for. Use "
    "backward(), torch.autograd.grad or torch.func.grad."
)


class TransformedSums(torch.autograd.Function):
    """:func:`region_sums` with a derivative that ``torch.func.grad`` and ``vmap`` know how to take."""

    @staticmethod
    def forward(logits: Tensor, target: Tensor, mask: Tensor | None, reading: Reading) -> Tensor:
        return region_sums(logits, target, mask, *reading)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        logits, target, mask, ctx.reading = inputs
        ctx.save_for_backward(logits, target, mask)

    @staticmethod
    def backward(ctx: Any, *coefficients: Tensor) -> tuple[Tensor | None, ...]:
        return TransformedGradient.apply(*coefficients, *ctx.saved_tensors, ctx.reading), None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise RuntimeError(FORWARD_MODE)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *inputs: Any) -> tuple[Tensor, int]:
        given = [folded(one, dim, 0, info.batch_size) for one, dim in zip(inputs[:3], in_dims, strict=False)]
        sums = TransformedSums.apply(*given, inputs[3])
        return sums.unflatten(1, (info.batch_size, -1)), 1


class TransformedGradient(torch.autograd.Function):
    """:func:`region_gradient`, likewise; it has no derivative."""

    @staticmethod
    def forward(coefficients: Tensor, logits: Tensor, target: Tensor, mask: Tensor | None, reading: Reading) -> Tensor:
        return region_gradient(coefficients.contiguous(), logits, target, mask, *reading)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        """Nothing is kept."""

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        raise RuntimeError(
            "sizewise: the region statistics have a first derivative only, and a second one was asked for. Hessians "
            "and gradient penalties need a loss in plain torch."
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise RuntimeError(FORWARD_MODE)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *inputs: Any) -> tuple[Tensor, int]:
        size = info.batch_size
        coefficients = folded(inputs[0], in_dims[0], 1, size)
        given = [folded(one, dim, 0, size) for one, dim in zip(inputs[1:4], in_dims[1:], strict=False)]
        gradient = TransformedGradient.apply(coefficients, *given, inputs[4])
        return gradient.unflatten(0, (size, -1)), 0


def folded(tensor: Tensor | None, dim: int | None, images: int, size: int) -> Tensor | None:
    """The samples of ``vmap`` as further images: sums are taken for each image by itself."""
    if tensor is None:
        return None
    tensor = tensor.unsqueeze(images) if dim is None else tensor.movedim(dim, images)
    return tensor.expand(*tensor.shape[:images], size, *tensor.shape[images + 1 :]).flatten(images, images + 1)
