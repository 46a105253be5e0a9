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


def image_logits(model: Callable[[Tensor], Tensor], images: Tensor, *, patch: Sequence[int], multiple: int) -> Tensor:
    """(N, K, *S) float32 from scaled images (N, C, *S)."""
    if images.dim() == 4 and images.is_cuda:
        images = images.contiguous(memory_format=torch.channels_last)
    if not patch:
        padded, crop = pad_to_multiple(images, multiple)
        return model(padded)[crop].float()
    from monai.inferers import sliding_window_inference

    logits = sliding_window_inference(
        images, tuple(patch), WINDOW_BATCH, lambda window: model(window).float(), overlap=OVERLAP, mode="gaussian"
    )
    assert isinstance(logits, Tensor)
    return logits


def predict_image(
    model: Callable[[Tensor], Tensor],
    image: Image,
    preparation: Preparation,
    *,
    patch: Sequence[int],
    multiple: int,
    sigmoid: bool,
    multilabel: bool,
    device: torch.device,
) -> np.ndarray:
    """The label map in the image's own geometry: (*S) uint8, or (C, *S) of 0 and 1 for multi-label.

    Logits, not labels, are brought to the image's size: a class is chosen for each pixel of the original.
    """
    factor, offset = (v.view(1, -1, *[1] * (image.pixels.ndim - 1)) for v in preparation.input_scale(device))
    prepared = preparation.image(image).to(device)[None] * factor + offset
    logits = image_logits(model, prepared, patch=patch, multiple=multiple)
    labels = labels_at(logits, image.pixels.shape[1:], sigmoid=sigmoid)
    if sigmoid and not multilabel:
        labels = labels[:, 0]
    return labels[0].cpu().numpy()


def labels_at(logits: Tensor, shape: tuple[int, ...], *, sigmoid: bool) -> Tensor:
    """(N, *S) class ids, or (N, C, *S) for sigmoid, after linear upsampling of the logits to ``shape``."""
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(shape)]

    def enlarge(part: Tensor) -> Tensor:
        return part if part.shape[2:] == shape else F.interpolate(part, shape, mode=mode, align_corners=False)

    if sigmoid:
        return (enlarge(logits) > 0).to(torch.uint8)
    if logits[:1, :1].numel() and 4 * int(np.prod(shape)) * logits.shape[1] <= CLASS_BYTES:
        return enlarge(logits).argmax(1).to(torch.uint8)
    best = enlarge(logits[:, :1])
    labels = torch.zeros_like(best, dtype=torch.uint8)
    for k in range(1, logits.shape[1]):  # one class at a time: a large volume's logits need not exist at once
        score = enlarge(logits[:, k : k + 1])
        labels = torch.where(score > best, torch.tensor(k, dtype=torch.uint8, device=labels.device), labels)
        best = torch.maximum(best, score)
    return labels[:, 0]
