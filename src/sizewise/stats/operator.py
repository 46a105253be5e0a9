"""The pass as one registered torch operator with an analytic backward, chosen by device.

Being an operator makes it opaque to ``torch.compile`` (no graph break, no data-dependent branch in sight) and lets a
device bring its own kernels behind the same signature.
"""

from typing import Any

import torch
from torch import Tensor

from sizewise.stats import reference
from sizewise.stats.kernels.backend import backend

_ARGUMENTS = (
    "Tensor logits, Tensor target, Tensor? mask, int? ignore_index, bool sigmoid, int[] kinds, float[] parameters"
)


@torch.library.custom_op("sizewise::region_sums", mutates_args=(), schema=f"({_ARGUMENTS}) -> Tensor")
def region_sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters):
    """The sums of :class:`sizewise.stats.fields.Kind`, stacked as (fields, N, K), or (fields, N, C, 2) for sigmoid."""
    with torch.autocast(logits.device.type, enabled=False):
        return reference.region_sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters)


@region_sums.register_kernel("cuda")
def _(logits, target, mask, ignore_index, sigmoid, kinds, parameters):
    chosen = backend(logits, sigmoid)
    if chosen is not reference:  # the kernels cast for themselves, so autocast does not reach them
        return chosen.region_sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters)
    with torch.autocast(logits.device.type, enabled=False):
        return reference.region_sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters)


@region_sums.register_fake
def _(logits, target, mask, ignore_index, sigmoid, kinds, parameters):
    shape = (len(kinds), *logits.shape[:2], 2) if sigmoid else (len(kinds), *logits.shape[:2])
    return logits.new_empty(shape, dtype=reference.compute_dtype(logits.dtype))


@torch.library.custom_op(
    "sizewise::region_gradient", mutates_args=(), schema=f"(Tensor coefficients, {_ARGUMENTS}) -> Tensor"
)
def region_gradient(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters):
    """The gradient of the sums, weighted with ``coefficients``, to the logits."""
    with torch.autocast(logits.device.type, enabled=False):
        return reference.region_gradient(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters)


@region_gradient.register_kernel("cuda")
def _(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters):
    chosen = backend(logits, sigmoid)
    if chosen is not reference:
        return chosen.region_gradient(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters)
    with torch.autocast(logits.device.type, enabled=False):
        return reference.region_gradient(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters)


@region_gradient.register_fake
def _(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters):
    return torch.empty_like(logits)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    logits, target, mask, *ctx.options = inputs
    ctx.save_for_backward(logits, target, mask)


def _backward(ctx: Any, coefficients: Tensor) -> tuple[Tensor | None, ...]:
    logits, target, mask = ctx.saved_tensors
    gradient = region_gradient(coefficients, logits, target, mask, *ctx.options)
    return gradient, None, None, None, None, None, None


def _no_second_derivative(ctx: Any, *gradients: Tensor) -> None:
    raise RuntimeError(
        "sizewise: the region statistics have a first derivative only, and a second one was asked for. Gradient "
        "penalties and meta-learning need a loss in plain torch; everything else works with create_graph=False."
    )


region_sums.register_autograd(_backward, setup_context=_save)
region_gradient.register_autograd(_no_second_derivative)
