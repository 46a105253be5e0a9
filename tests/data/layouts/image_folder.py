"""Folders of images and masks as people keep them; no official layout, but usual quirks."""

from pathlib import Path

import numpy as np
from data.layouts.scene import ellipse, photograph
from PIL import Image


def write_pair(image: Path, mask: Path, *, rng, size=(24, 32), foreground=255, share=0.15) -> np.ndarray:
    """One photograph with its mask; returns the region."""
    region = ellipse(rng, *size, share=share)
    image.parent.mkdir(parents=True, exist_ok=True)
    mask.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(photograph(rng, region)).save(image)
    Image.fromarray(np.where(region, foreground, 0).astype(np.uint8)).save(mask)
    return region


def write_image_folder(root: Path, cases: int = 8, seed: int = 0) -> Path:
    """images/ and masks/ of 0 and 255, with mixed extensions, one empty mask, and what systems leave behind."""
    rng = np.random.default_rng(seed)
    for number in range(cases):
        image = root / "images" / (f"case {number}.JPG" if number % 2 else f"case {number}.bmp")
        write_pair(image, root / "masks" / f"case {number}_mask.png", rng=rng, foreground=0 if number == 0 else 255)
    (root / "images" / "Thumbs.db").write_bytes(b"not a picture")
    (root / "masks" / ".DS_Store").write_bytes(b"not a picture")
    (root / "masks" / "._case 1_mask.png").write_bytes(b"not a picture")
    return root


def write_multiclass_folder(root: Path, classes: int = 4, cases: int = 8, seed: int = 0) -> Path:
    """train, val and test with label maps of class ids, each image with every class."""
    rng = np.random.default_rng(seed)
    for number in range(cases):
        subset = ("train", "val", "test")[0 if number < cases - 4 else 1 + number % 2]
        labels = np.zeros((32, 32), dtype=np.uint8)
        for label in range(1, classes):
            labels[ellipse(rng, 32, 32, share=0.08)] = label
        labels[0, :classes] = np.arange(classes)
        picture = photograph(rng, labels > 0)
        picture[..., 2] = np.clip(picture[..., 2] + 40 * labels.astype(int), 0, 255)
        for folder, array in (("images", picture), ("labels", labels)):
            (root / subset / folder).mkdir(parents=True, exist_ok=True)
            Image.fromarray(array).save(root / subset / folder / f"{number:03d}.png")
    return root
