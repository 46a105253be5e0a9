"""The sums per cell as a registered torch operator with an analytic backward, beside that of the sums per image."""

from typing import Any

import torch
from torch import Tensor

from sizewise.stats import cell_sums as reference
from sizewise.stats.kernels.backend import kernels
from sizewise.stats.operator import no_second_derivative
from sizewise.stats.reference import compute_dtype

_ARGUMENTS = (
    "Tensor logits, Tensor target, Tensor? mask, Tensor maps, int[] classes, SymInt most, int? ignore_index, "
    "bool sigmoid, int[] kinds, float[] parameters"
)
_SUMS, _GRADIENT = "sizewise::cell_sums", "sizewise::cell_gradient"
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)

_library = torch.library.Library("sizewise", "FRAGMENT")
_library.define(f"cell_sums({_ARGUMENTS}) -> Tensor", tags=_TAGS)
_library.define(f"cell_gradient(Tensor coefficients, {_ARGUMENTS}) -> Tensor", tags=_TAGS)

cell_sums = torch.ops.sizewise.cell_sums.default
"""The sums of each cell: (fields, N · most, K), or (fields, N · most, C, 2) for sigmoid."""
cell_gradient = torch.ops.sizewise.cell_gradient.default
"""The gradient of the sums, weighted with ``coefficients``, to the logits."""


def _sums(logits, target, mask, *options):
    with torch.autocast(logits.device.type, enabled=False):
        return reference.cell_sums(logits, target, mask, *options)


def _gradient(coefficients, logits, target, mask, *options):
    with torch.autocast(logits.device.type, enabled=False):
        return reference.cell_gradient(coefficients, logits, target, mask, *options)


def _cuda_sums(logits, target, mask, maps, classes, most, ignore_index, sigmoid, kinds, parameters):
    options = (maps, classes, most, ignore_index, sigmoid, kinds, parameters)
    if not takes_cell_kernels(logits, maps, classes, most, sigmoid, kinds):
        return _sums(logits, target, mask, *options)
    from sizewise.stats.kernels import cell_passes

    return cell_passes.cell_sums(logits, target, mask, *options)


def _cuda_gradient(coefficients, logits, target, mask, maps, classes, most, ignore_index, sigmoid, kinds, parameters):
    options = (maps, classes, most, ignore_index, sigmoid, kinds, parameters)
    if not takes_cell_kernels(logits, maps, classes, most, sigmoid, kinds):
        return _gradient(coefficients, logits, target, mask, *options)
    from sizewise.stats.kernels import cell_passes

    gradient = torch.zeros_like(logits)
    cell_passes.add_cell_gradient(gradient, coefficients.contiguous(), logits, target, mask, *options)
    return gradient


def add_cell_gradient(gradient, coefficients, logits, target, mask, *options):
    """Add :func:`cell_gradient` to a gradient in place, with the kernels."""
    from sizewise.stats.kernels import cell_passes

    cell_passes.add_cell_gradient(gradient, coefficients.contiguous(), logits, target, mask, *options)


def takes_cell_kernels(logits, maps, classes, most, sigmoid, kinds):
    """Whether the kernels run on such input."""
    if not logits.is_cuda or not most or kernels() is None:
        return False
    from sizewise.stats.kernels import cell_passes

    return cell_passes.takes(logits, maps, classes, sigmoid, kinds)


def _fake_sums(logits, target, mask, maps, classes, most, ignore_index, sigmoid, kinds, parameters):
    shape = (len(kinds), logits.shape[0] * most, logits.shape[1])
    return logits.new_empty((*shape, 2) if sigmoid else shape, dtype=compute_dtype(logits.dtype))


def _fake_gradient(coefficients, logits, *rest):
    return torch.empty_like(logits)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    logits, target, mask, maps, *ctx.options = inputs
    ctx.save_for_backward(logits, target, mask, maps)


def _backward(ctx: Any, coefficients: Tensor) -> tuple[Tensor | None, ...]:
    gradient = cell_gradient(coefficients, *ctx.saved_tensors, *ctx.options)
    return (gradient, *[None] * 9)


_library.impl("cell_sums", _sums, "CompositeExplicitAutograd")
_library.impl("cell_sums", _cuda_sums, "CUDA")
_library.impl("cell_gradient", _gradient, "CompositeExplicitAutograd")
_library.impl("cell_gradient", _cuda_gradient, "CUDA")
torch.library.register_fake(_SUMS, _fake_sums, lib=_library)
torch.library.register_fake(_GRADIENT, _fake_gradient, lib=_library)
torch.library.register_autograd(_SUMS, _backward, setup_context=_save, lib=_library)
torch.library.register_autograd(_GRADIENT, no_second_derivative, lib=_library)
