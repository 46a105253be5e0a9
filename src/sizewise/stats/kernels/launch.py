"""What the operator calls for CUDA tensors: the same arguments and results as the reference."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from sizewise.stats.kernels.call import BackwardCall, ForwardCall
from sizewise.stats.kernels.label_errors import record_of
from sizewise.stats.kernels.layout import joint_layout
from sizewise.stats.reference import compute_dtype

# A program with ever new shapes prepares anew now and then.
MOST_CALLS = 1024
_forward_calls: dict[tuple, ForwardCall] = {}
_backward_calls: dict[tuple, BackwardCall] = {}
_same_device = nullcontext()


def region_sums(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    parameters: Sequence[float],
) -> Tensor:
    """See :func:`sizewise.stats.reference.region_sums`; bad target values make the sums NaN instead of raising."""
    record = record_of(logits.device)
    if record.words[0]:
        record.raise_error()
    if logits.numel() == 0:
        shape = (len(kinds), *logits.shape[:2], 2) if sigmoid else (len(kinds), *logits.shape[:2])
        return torch.zeros(shape, dtype=compute_dtype(logits.dtype), device=logits.device)
    logits, target, mask = walkable(logits, target, mask)
    key = call_key(logits, target, mask, ignore_index, sigmoid, kinds, parameters)
    call = _forward_calls.get(key)
    if call is None:
        if len(_forward_calls) >= MOST_CALLS:
            _forward_calls.clear()
        fields = list(zip(kinds, parameters, strict=True))
        call = _forward_calls[key] = ForwardCall(logits, target, mask, ignore_index, sigmoid, fields)
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
    upstream: Tensor | None = None,
) -> Tensor:
    """See :func:`sizewise.stats.reference.region_gradient`; all of it times ``upstream``, a 0-dim tensor."""
    gradient = torch.empty_like(logits)
    if logits.numel() == 0:
        return gradient
    walked, target, mask = walkable(logits, target, mask)
    out = gradient if walked is logits else torch.empty_like(walked)
    key = (upstream is None, *call_key(walked, target, mask, ignore_index, sigmoid, kinds, parameters))
    call = _backward_calls.get(key)
    if call is None:
        if len(_backward_calls) >= MOST_CALLS:
            _backward_calls.clear()
        fields = list(zip(kinds, parameters, strict=True))
        call = _backward_calls[key] = BackwardCall(
            walked, target, mask, out, ignore_index, sigmoid, fields, upstream is not None
        )
    with on_device_of(logits):
        call(coefficients.contiguous(), walked, target, mask, out, upstream)
    return gradient if out is gradient else gradient.copy_(out)


def walkable(logits: Tensor, target: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """The tensors themselves, or contiguous copies where four or more spatial axes have no joint order."""
    if logits.dim() <= 5:
        return logits, target, mask
    if joint_layout([logits, target, logits if mask is None else mask, torch.empty_like(logits)]) is not None:
        return logits, target, mask
    return logits.contiguous(), target.contiguous(), None if mask is None else mask.contiguous()


def call_key(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    ignore_index: int | None,
    sigmoid: bool,
    kinds: Sequence[int],
    parameters: Sequence[float],
) -> tuple:
    """All that a prepared launch depends on, pointer alignment included, since kernels read 16 bytes at a time."""
    pointers = logits.data_ptr() | target.data_ptr()
    mask_key = None
    if mask is not None:
        mask_key = (mask.shape, mask.stride())
        pointers |= mask.data_ptr()
    return (
        logits.shape,
        logits.stride(),
        logits.dtype,
        logits.device,
        target.stride(),
        target.dtype,
        mask_key,
        ignore_index,
        sigmoid,
        tuple(kinds),
        tuple(parameters),
        pointers % 16 == 0
        or (logits.data_ptr() % 16, target.data_ptr() % 16, 0 if mask is None else mask.data_ptr() % 16),
    )


def on_device_of(tensor: Tensor) -> AbstractContextManager:
    """Launches go to the current device, which may be another than the tensor's."""
    if tensor.device.type != "cuda" or tensor.device.index == torch.cuda.current_device():
        return _same_device
    return torch.cuda.device(tensor.device)
