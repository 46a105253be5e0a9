"""Volumes of a few voxels for the layouts' fixtures."""

from pathlib import Path

import nibabel as nib
import numpy as np

AFFINE = np.array([[-0.8, 0, 0, 100], [0, 0.8, 0, -50], [0, 0, 2.5, -20], [0, 0, 0, 1.0]])  # flipped x, thick slices
SHAPE = (8, 7, 5)


def save(path: Path, array: np.ndarray, affine: np.ndarray = AFFINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(array, affine), path)
    return path


def scan(seed: int, *, channels: int = 0, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Intensities like a CT's, int16; ``channels`` > 0 adds the decathlon's last axis."""
    full = (*shape, channels) if channels else shape
    return np.random.default_rng(seed).integers(-1000, 1000, full).astype(np.int16)


def labels(*, classes: int, dtype: type = np.uint8, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """One voxel of class 1, two of class 2 and so on, the rest background."""
    flat = np.zeros(int(np.prod(shape)), dtype=dtype)
    start = 10
    for label in range(1, classes):
        flat[start : start + label] = label
        start += label
    return flat.reshape(shape)
