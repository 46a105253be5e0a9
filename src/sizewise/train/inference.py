"""Logits of whole images: padded to what the network needs, or by a sliding window where it was trained on crops."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from sizewise.data.dataset import Image
from sizewise.models.padding import pad_to_multiple
from sizewise.train.preparation import Preparation

WINDOW_BATCH = 4
OVERLAP = 0.5
CLASS_BYTES = 2**30  # label maps larger than this, over all classes, are upsampled class by class


def image_logits(
    model: Callable[[Tensor], Tensor],
    images: Tensor,
    *,
    patch: Sequence[int],
    multiple: int,
    overlap: float = OVERLAP,
) -> Tensor:
    """(N, K, *S) float32 from scaled images (N, C, *S)."""
    if images.dim() == 4 and images.is_cuda:
        images = images.contiguous(memory_format=torch.channels_last)
    if not patch:
        padded, crop = pad_to_multiple(images, multiple)
        return model(padded)[crop].float()
    from monai.inferers import sliding_window_inference

    logits = sliding_window_inference(
        images, tuple(patch), WINDOW_BATCH, lambda window: model(window).float(), overlap=overlap, mode="gaussian"
    )
    assert isinstance(logits, Tensor)
    return logits


def network_input(image: Image, preparation: Preparation, *, device: torch.device) -> Tensor:
    """(1, C, *s): one image as the network sees it."""
    factor, offset = (v.view(1, -1, *[1] * (image.pixels.ndim - 1)) for v in preparation.input_scale(device))
    return preparation.image(image).to(device)[None] * factor + offset


def enlarged(logits: Tensor, shape: tuple[int, ...]) -> Tensor:
    """(N, K, *s) to the spatial shape of the image, linearly."""
    if tuple(logits.shape[2:]) == tuple(shape):
        return logits
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(shape)]
    return F.interpolate(logits, shape, mode=mode, align_corners=False)


def labels_at(logits: Tensor, shape: tuple[int, ...], *, sigmoid: bool) -> Tensor:
    """(N, *S) class ids, or (N, C, *S) for sigmoid, after linear upsampling of the logits to ``shape``."""
    if sigmoid:
        return (enlarged(logits, shape) > 0).to(torch.uint8)
    if logits[:1, :1].numel() and 4 * int(np.prod(shape)) * logits.shape[1] <= CLASS_BYTES:
        return enlarged(logits, shape).argmax(1).to(torch.uint8)
    best = enlarged(logits[:, :1], shape)
    labels = torch.zeros_like(best, dtype=torch.uint8)
    for k in range(1, logits.shape[1]):  # one class at a time: a large volume's logits need not exist at once
        score = enlarged(logits[:, k : k + 1], shape)
        labels = torch.where(score > best, torch.tensor(k, dtype=torch.uint8, device=labels.device), labels)
        best = torch.maximum(best, score)
    return labels[:, 0]
