"""Small pictures of test cases with what was predicted and what was true, for the report to show."""

from pathlib import Path

import numpy as np
import torch

from sizewise.data.dataset import Image
from sizewise.files import replacing
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.outside_names import file_name
from sizewise.train.preparation import resize

LARGEST = 256  # pixels along the longer side
KEPT = 100  # cases of a run


def overlay_folder(overlays: Path, decision: str) -> Path:
    """Where the pictures of a decision go: those of argmax into the folder itself, as before there were others.

    >>> overlay_folder(Path("overlays"), "argmax").name, overlay_folder(Path("overlays"), "dice").name
    ('overlays', 'dice')
    """
    return overlays if decision == ARGMAX else overlays / decision


def save_overlay(folder: Path, case: str, image: Image, predicted: np.ndarray, target: np.ndarray) -> Path:
    """Write ``folder/CASE.npz``: image (H, W, 3), target and predicted (H, W), all uint8.

    Of a volume it is the slice along the axis with the thickest spacing that holds most of the target. Multi-label
    maps show the last channel on top.
    """
    pixels, target, predicted = image.pixels, flat_labels(target, image), flat_labels(predicted, image)
    if target.ndim == 3:
        axis = int(np.argmax(image.spacing))
        area = (target > 0).sum(axis=tuple(i for i in range(3) if i != axis))
        index = int(np.argmax(area)) if area.any() else target.shape[axis] // 2
        pixels = np.take(pixels, index, axis=axis + 1)
        target, predicted = (np.take(labels, index, axis=axis) for labels in (target, predicted))
    picture = _grey_or_colour(_shrink(pixels))
    shape = picture.shape[:2]
    path = folder / f"{file_name(case)}.npz"
    with replacing(path) as partial, open(partial, "wb") as file:
        np.savez_compressed(file, image=picture, target=_nearest(target, shape), predicted=_nearest(predicted, shape))
    return path


def flat_labels(labels: np.ndarray, image: Image) -> np.ndarray:
    """(*S) class ids, from label maps or from channels of 0 and 1."""
    if labels.ndim == image.pixels.ndim - 1:
        return labels.astype(np.uint8)
    numbers = np.arange(1, len(labels) + 1, dtype=np.uint8).reshape(-1, *[1] * (labels.ndim - 1))
    return np.where(labels == 1, numbers, 0).max(axis=0).astype(np.uint8)


def _shrink(pixels: np.ndarray) -> np.ndarray:
    factor = min(1.0, LARGEST / max(pixels.shape[1:]))
    shape = tuple(max(1, round(length * factor)) for length in pixels.shape[1:])
    return resize(torch.from_numpy(np.ascontiguousarray(pixels)), shape).numpy()


def _grey_or_colour(pixels: np.ndarray) -> np.ndarray:
    """(H, W, 3) uint8: photographs as they are, measured values between their 1st and 99th percentile."""
    if pixels.dtype != np.uint8:
        first = pixels[:1].astype(np.float32)
        low, high = np.percentile(first, [1, 99])
        pixels = (255 * np.clip((first - low) / max(high - low, 1e-6), 0, 1)).astype(np.uint8)
    three = pixels if len(pixels) == 3 else np.repeat(pixels[:1], 3, axis=0)
    return np.ascontiguousarray(three.transpose(1, 2, 0))


def _nearest(labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    rows, columns = (((np.arange(n) + 0.5) * m / n).astype(int) for n, m in zip(shape, labels.shape, strict=True))
    return labels[rows][:, columns]
