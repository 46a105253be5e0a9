"""Bringing logits, target and mask into the one form that the operator takes, or saying what is wrong with them."""

from numbers import Integral
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sizewise.checks import check_word
from sizewise.stats.upsampling import CORNERS, MOST_AXES, UPSAMPLES

ACTIVATIONS = ("softmax", "sigmoid")
UNSIGNED_DTYPES = (torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64)
LABEL_DTYPES = frozenset((*UNSIGNED_DTYPES, torch.int8, torch.int16, torch.int32, torch.int64))
FLOAT_DTYPES = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))


def prepare(
    where: str,
    logits: Any,
    target: Any,
    mask: Any,
    ignore_index: int | None,
    activation: str,
    upsample: str | None = None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Check all but the target's values; return plain tensors in the operator's form.

    The operator takes labels as (N, 1, *S) for softmax and (N, C, *S) for sigmoid, probabilities as (N, K, *S), and a
    mask as (N, 1, *S) or (N, C, *S). S is the logits' size, or with ``upsample`` the target's.
    """
    check_word(where, "activation", activation, ACTIVATIONS)
    check_upsample(where, upsample)
    sigmoid = activation == "sigmoid"
    logits = plain(where, "logits", logits)
    target = plain(where, "target", target)
    check_logits(where, logits, sigmoid)
    on_same_device(where, "target", target, logits.device)
    form = tuple(logits.shape) if upsample is None else full_form(where, logits, target)
    target = prepare_target(where, target, form, sigmoid)
    if target.dtype.is_floating_point and ignore_index is not None:
        raise ValueError(
            f"{where}: ignore_index={ignore_index} needs integer labels, but target holds probabilities "
            f"({dtype_name(target)}). Mark the pixels to leave out with mask=..., a bool tensor that is False there."
        )
    return logits, target, None if mask is None else prepare_mask(where, mask, logits.device, form, sigmoid)


def check_upsample(where: str, upsample: Any) -> None:
    """Raise unless it is a way of interpolating or None."""
    if upsample is not None:
        check_word(where, "upsample", upsample, UPSAMPLES)


def full_form(where: str, logits: Tensor, target: Tensor) -> tuple[int, ...]:
    """(N, K, *S) with the target's size, to which the logits are interpolated."""
    axes = logits.dim() - 2
    size = target.shape[target.dim() - axes :]
    if target.dim() not in (axes + 1, axes + 2):
        return tuple(logits.shape)  # what is wrong with the target is said elsewhere
    return (*logits.shape[:2], *check_size(where, logits, size, f"the target {shape(target)}"))


def full_size_logits(where: str, logits: Tensor, target: Tensor, upsample: str) -> Tensor:
    """The logits at the target's size, stored, for sums that are taken of full-size logits alone."""
    size = full_form(where, logits, target)[2:]
    if size == tuple(logits.shape[2:]):
        return logits
    wide = logits if logits.dtype.itemsize > 2 else logits.float()
    mode = ("linear", "bilinear", "trilinear")[len(size) - 1]
    return functional.interpolate(wide, size, mode=mode, align_corners=upsample == CORNERS)


def check_size(where: str, logits: Tensor, size: Any, whose: str) -> tuple[int, ...]:
    """Raise unless logits can be interpolated to ``size``, which is that of ``whose``."""
    small, size = tuple(logits.shape[2:]), tuple(size)
    if len(small) > MOST_AXES:
        raise ValueError(f"{where}: upsample interpolates one to {MOST_AXES} spatial axes, got logits {shape(logits)}.")
    if len(size) != len(small) or any(pixels < cells for cells, pixels in zip(small, size, strict=True)):
        raise ValueError(
            f"{where}: upsample interpolates to a size that is not below the logits' in any axis, got logits "
            f"{shape(logits)} for {whose}."
        )
    if 0 in small and 0 not in size:
        raise ValueError(f"{where}: logits {shape(logits)} hold no pixel to interpolate from, for {whose}.")
    return size


def check_ignore_index(where: str, ignore_index: Any) -> int | None:
    """Return ``ignore_index`` as an int, whoever's integer it is, or None."""
    if ignore_index is None:
        return None
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, Integral):
        raise TypeError(f"{where}: ignore_index must be an integer or None, got {ignore_index!r}.")
    index = int(ignore_index)
    if not -(2**63) <= index < 2**63:
        raise ValueError(
            f"{where}: ignore_index must fit into int64, got {index}. Mark the pixels to leave out with mask=..., a "
            "bool tensor that is False there."
        )
    return index


def plain(where: str, argument: str, value: Any) -> Tensor:
    """The tensor without its subclass: MONAI's MetaTensor would spread through every later operation."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{where}: {argument} must be a torch.Tensor, got {type(value).__name__}.")
    if type(value) is Tensor or type(value).__torch_dispatch__ is not Tensor.__torch_dispatch__:
        return value
    return value.as_subclass(Tensor)


def check_logits(where: str, logits: Tensor, sigmoid: bool) -> None:
    """Raise unless the logits are floating point, (N, K, *S) with at least one spatial axis and enough channels."""
    if logits.dtype not in FLOAT_DTYPES:
        raise TypeError(
            f"{where}: logits must be float16, bfloat16, float32 or float64, got {dtype_name(logits)}. Pass the "
            "network's raw scores."
        )
    if logits.dim() < 3:
        raise ValueError(
            f"{where}: logits must have shape (N, K, *S) with at least one spatial axis, got {shape(logits)}. For one "
            "image add a batch axis, logits[None]; for a list of pixels (M, K) pass logits.T[None] and target[None]."
        )
    if logits.shape[1] == 0:
        raise ValueError(f"{where}: logits must have at least one channel, got {shape(logits)}.")
    if logits.shape[1] == 1 and not sigmoid:
        raise ValueError(
            f"{where}: logits have one channel, {shape(logits)}, and softmax over one class is always 1. For binary "
            'segmentation with one channel use activation="sigmoid", or give the network two channels.'
        )


def prepare_target(where: str, target: Tensor, form: tuple[int, ...], sigmoid: bool) -> Tensor:
    """Labels as (N, 1 or C, *S), or probabilities as (N, K, *S), which is ``form``."""
    images, channels, *spatial = form
    flat = (images, *spatial)
    if target.dtype in LABEL_DTYPES:
        if tuple(target.shape) == flat and (channels == 1 or not sigmoid):
            return target.unsqueeze(1)
        wanted = (images, channels if sigmoid else 1, *spatial)
        if tuple(target.shape) == wanted:
            return target
        raise ValueError(f"{where}: {wrong_labels(target, form, sigmoid)}")
    if target.dtype not in FLOAT_DTYPES:
        raise TypeError(
            f"{where}: target must hold integer labels or floating-point probabilities, got {dtype_name(target)}."
        )
    if tuple(target.shape) == form:
        return target
    if tuple(target.shape) in (flat, (images, 1, *spatial)):
        hint = (
            " or target.unsqueeze(1) if it holds probabilities of the one channel" if sigmoid and channels == 1 else ""
        )
        raise TypeError(
            f"{where}: target is a {dtype_name(target)} label map of shape {shape(target)}; labels must be integers. "
            f"Use target.long(){hint}."
        )
    last = tuple(target.shape) == (images, *spatial, channels)
    hint = " Are the classes last? Use target.movedim(-1, 1)." if last else smaller_hint(target, form)
    raise ValueError(
        f"{where}: float target must hold probabilities in the logits' shape {form}, got {shape(target)}.{hint}"
    )


def wrong_labels(target: Tensor, form: tuple[int, ...], sigmoid: bool) -> str:
    """The sentence for an integer target of the wrong shape."""
    images, channels, *spatial = form
    wanted = (images, channels, *spatial) if sigmoid else (images, *spatial)
    axes = "(N, C, *S)" if sigmoid else "(N, *S)"
    sentence = f"target must have shape {axes} = {wanted}, got {shape(target)} for logits {form}."
    if not sigmoid and tuple(target.shape) == form:
        return sentence + " One-hot? Pass it as float probabilities."
    if not sigmoid and tuple(target.shape) == (images, *spatial, channels):
        return sentence + " One-hot with the classes last? Use target.argmax(-1)."
    if sigmoid and tuple(target.shape) == (images, *spatial):
        return sentence + ' One label per pixel? Use activation="softmax", or one channel per class in the target.'
    if tuple(target.shape) == form[1:]:
        return sentence + " One image without a batch axis? Use logits[None] and target[None]."
    if target.dim() == len(spatial):
        return sentence + " Is the batch axis missing? Use target[None]."
    return sentence + smaller_hint(target, form)


def smaller_hint(target: Tensor, form: tuple[int, ...]) -> str:
    """What to do where the target is of the same images, but larger."""
    images, _, *spatial = form
    if target.dim() not in (len(spatial) + 1, len(spatial) + 2) or target.shape[0] != images:
        return ""
    size = list(target.shape[target.dim() - len(spatial) :])
    if size == spatial or any(pixels < cells for cells, pixels in zip(spatial, size, strict=True)):
        return ""
    return ' Does the network predict at a lower resolution than the target\'s? Pass upsample="linear".'


def prepare_mask(where: str, mask: Any, device: torch.device, form: tuple[int, ...], sigmoid: bool) -> Tensor:
    """A bool mask as (N, 1, *S) or, for sigmoid, (N, C, *S)."""
    mask = plain(where, "mask", mask)
    if mask.dtype != torch.bool:
        raise TypeError(
            f"{where}: mask must be bool, True at the pixels to use, got {dtype_name(mask)}. Use mask.bool()."
        )
    on_same_device(where, "mask", mask, device)
    images, _, *spatial = form
    if tuple(mask.shape) == (images, *spatial):
        return mask.unsqueeze(1)
    if tuple(mask.shape) == (images, 1, *spatial) or (sigmoid and tuple(mask.shape) == form):
        return mask
    raise ValueError(
        f"{where}: mask must have shape (N, *S) = {(images, *spatial)}, got {shape(mask)} for logits {form}."
    )


def on_same_device(where: str, argument: str, tensor: Tensor, device: torch.device) -> None:
    """Raise if ``tensor`` lives elsewhere than the logits."""
    if tensor.device != device:
        raise ValueError(
            f"{where}: {argument} is on {tensor.device}, but the logits are on {device}. Use "
            f"{argument}.to(logits.device)."
        )


def shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape as a tuple, for messages."""
    return tuple(tensor.shape)


def dtype_name(tensor: Tensor) -> str:
    """``float32`` rather than ``torch.float32``."""
    return str(tensor.dtype).removeprefix("torch.")
