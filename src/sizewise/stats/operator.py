"""The pass as one registered torch operator with an analytic backward, chosen by device.

Being an operator makes it opaque to ``torch.compile`` (no graph break, no data-dependent branch in sight) and lets a
device bring its own kernels behind the same signature. It is registered piece by piece rather than through
``torch.library.custom_op``, whose wrappers take longer than a small loss.
"""

from typing import Any

import torch
from torch import Tensor

from sizewise.stats import reference
from sizewise.stats.kernels.backend import backend

_ARGUMENTS = (
    "Tensor logits, Tensor target, Tensor? mask, int? ignore_index, bool sigmoid, int[] kinds, float[] parameters, "
    "str? upsample=None"
)
_SUMS, _GRADIENT = "sizewise::region_sums", "sizewise::region_gradient"
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)

_library = torch.library.Library("sizewise", "FRAGMENT")
_library.define(f"region_sums({_ARGUMENTS}) -> Tensor", tags=_TAGS)
_library.define(f"region_gradient(Tensor coefficients, {_ARGUMENTS}) -> Tensor", tags=_TAGS)

region_sums = torch.ops.sizewise.region_sums.default
"""The sums of :class:`sizewise.stats.fields.Kind`, stacked as (fields, N, K), or (fields, N, C, 2) for sigmoid."""
region_gradient = torch.ops.sizewise.region_gradient.default
"""The gradient of the sums, weighted with ``coefficients``, to the logits."""


def _sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample=None):
    with torch.autocast(logits.device.type, enabled=False):
        return reference.region_sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample)


def _gradient(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample=None):
    with torch.autocast(logits.device.type, enabled=False):
        return reference.region_gradient(
            coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample
        )


def _cuda_sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample=None):
    chosen = backend(logits, target, sigmoid, upsample)
    if chosen is reference:
        return _sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample)
    # The kernels cast for themselves, so autocast does not reach them.
    return chosen.region_sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample)


def _cuda_gradient(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample=None):
    chosen = backend(logits, target, sigmoid, upsample)
    if chosen is reference:
        return _gradient(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample)
    return chosen.region_gradient(
        coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample
    )


def _fake_sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample=None):
    shape = (len(kinds), *logits.shape[:2], 2) if sigmoid else (len(kinds), *logits.shape[:2])
    return logits.new_empty(shape, dtype=reference.compute_dtype(logits.dtype))


def _fake_gradient(coefficients, logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample=None):
    return torch.empty_like(logits)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    logits, target, mask, *ctx.options = inputs
    ctx.save_for_backward(logits, target, mask)


def _backward(ctx: Any, coefficients: Tensor) -> tuple[Tensor | None, ...]:
    logits, target, mask = ctx.saved_tensors
    gradient = region_gradient(coefficients, logits, target, mask, *ctx.options)
    return gradient, *[None] * (2 + len(ctx.options))


def no_second_derivative(ctx: Any, *gradients: Tensor) -> None:
    """Say that there is none."""
    raise RuntimeError(
        "sizewise: the region statistics have a first derivative only, and a second one was asked for. Gradient "
        "penalties and meta-learning need a loss in plain torch; everything else works with create_graph=False."
    )


_library.impl("region_sums", _sums, "CompositeExplicitAutograd")
_library.impl("region_sums", _cuda_sums, "CUDA")
_library.impl("region_gradient", _gradient, "CompositeExplicitAutograd")
_library.impl("region_gradient", _cuda_gradient, "CUDA")
torch.library.register_fake(_SUMS, _fake_sums, lib=_library)
torch.library.register_fake(_GRADIENT, _fake_gradient, lib=_library)
torch.library.register_autograd(_SUMS, _backward, setup_context=_save, lib=_library)
torch.library.register_autograd(_GRADIENT, no_second_derivative, lib=_library)
