"""Both passes over CUDA tensors, prepared once for each form of input and found again by a key.

The operator calls :func:`region_sums` and :func:`region_gradient`, with the arguments and results of the reference. A
step of a criterion prepares its own launches here, from the same store.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor

from sizewise.private_apis import cuda_device
from sizewise.stats.kernels.call import BackwardCall, ForwardCall
from sizewise.stats.kernels.field_order import Fields, Planes, every_plane
from sizewise.stats.kernels.kept_tensors import numbers_on
from sizewise.stats.kernels.label_errors import record_of
from sizewise.stats.kernels.layout import joint_layout
from sizewise.stats.kernels.upsampled_call import UpsampledBackwardCall
from sizewise.stats.reference import compute_dtype
from sizewise.stats.upsampling import needed_upsample

# A program with ever new shapes prepares anew now and then.
MOST_CALLS = 1024
_calls: dict[tuple, Any] = {}
_same_device = nullcontext()
Made = TypeVar("Made")


def region_sums(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    parameters: Sequence[float],
    upsample: str | None = None,
) -> Tensor:
    """See :func:`sizewise.stats.reference.region_sums`; bad target values make the sums NaN instead of raising."""
    record = record_of(logits.device)
    if record.words[0]:
        record.raise_error()
    if logits.numel() == 0:
        shape = (len(kinds), *logits.shape[:2], 2) if sigmoid else (len(kinds), *logits.shape[:2])
        return torch.zeros(shape, dtype=compute_dtype(logits.dtype), device=logits.device)
    logits, target, mask = walkable(logits, target, mask)
    fields = tuple(zip(kinds, parameters, strict=True))
    upsample = needed_upsample(logits, target, upsample)
    call = forward_call(logits, target, mask, ignore_index, sigmoid, fields, upsample)
    with on_device_of(logits):
        return call(logits, target, mask, record.tensor)


def region_gradient(
    coefficients: Tensor,
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    parameters: Sequence[float],
    upsample: str | None = None,
) -> Tensor:
    """See :func:`sizewise.stats.reference.region_gradient`."""
    gradient = torch.empty_like(logits)
    if logits.numel() == 0:
        return gradient
    walked, target, mask = walkable(logits, target, mask)
    out = gradient if walked is logits else torch.empty_like(walked)
    fields = tuple(zip(kinds, parameters, strict=True))
    upsample = needed_upsample(logits, target, upsample)
    call = backward_call(walked, target, mask, out, ignore_index, sigmoid, fields, every_plane(fields), upsample)
    one = numbers_on(coefficients.device, coefficients.dtype, 1.0)
    planes = torch.cat((coefficients.flatten(), one))  # all of one term, whose factor is 1
    with on_device_of(logits):
        call(planes, one, walked, target, mask, out)
    return gradient if out is gradient else gradient.copy_(out)


def forward_call(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    ignore_index: int | None,
    sigmoid: bool,
    fields: Fields,
    upsample: str | None = None,
) -> ForwardCall:
    """The launches that take the sums of such input."""
    key = ("forward", form_of(logits, target, mask), ignore_index, sigmoid, tuple(fields), upsample)
    return prepared(key, lambda: ForwardCall(logits, target, mask, ignore_index, sigmoid, fields, upsample))


def backward_call(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    gradient: Tensor,
    ignore_index: int | None,
    sigmoid: bool,
    fields: Fields,
    planes: Planes,
    upsample: str | None = None,
) -> BackwardCall | UpsampledBackwardCall:
    """The launch that writes the gradient for such input; ``gradient`` is laid out as ``torch.empty_like(logits)``."""
    key = ("backward", form_of(logits, target, mask), ignore_index, sigmoid, tuple(fields), tuple(planes), upsample)
    given = (logits, target, mask, gradient, ignore_index, sigmoid, fields, planes)
    if upsample is None:
        return prepared(key, lambda: BackwardCall(*given))
    return prepared(key, lambda: UpsampledBackwardCall(*given, upsample))


def prepared(key: tuple, make: Callable[[], Made]) -> Made:
    """What was made for a key, or is made now."""
    call = _calls.get(key)
    if call is None:
        if len(_calls) >= MOST_CALLS:
            _calls.clear()
        call = _calls[key] = make()
    return call


def form_of(logits: Tensor, target: Tensor, mask: Tensor | None) -> tuple:
    """All of its input that a launch depends on, pointer alignment included: kernels read 16 bytes at a time."""
    own, other = logits.data_ptr(), target.data_ptr()
    return (
        logits.shape,
        logits.stride(),
        logits.dtype,
        logits.get_device(),
        target.shape,
        target.stride(),
        target.dtype,
        target.get_device(),
        (own | other) & 15 and (own & 15, other & 15),
        None if mask is None else (mask.shape, mask.stride(), mask.dtype, mask.get_device(), mask.data_ptr() & 15),
    )


def walkable(logits: Tensor, target: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """The tensors themselves, or contiguous copies where four or more spatial axes have no joint order."""
    if logits.dim() <= 5:
        return logits, target, mask
    if joint_layout([logits, target, logits if mask is None else mask, torch.empty_like(logits)]) is not None:
        return logits, target, mask
    return logits.contiguous(), target.contiguous(), None if mask is None else mask.contiguous()


def on_device_of(tensor: Tensor) -> AbstractContextManager:
    """Launches go to the current device, which may be another than the tensor's."""
    device = tensor.get_device()
    return _same_device if device < 0 or device == cuda_device() else torch.cuda.device(device)
