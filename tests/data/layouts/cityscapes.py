"""Cityscapes, https://www.cityscapes-dataset.com: names and label ids as in github.com/mcordts/cityscapesScripts.

``helpers/labels.py`` gives the ids; the label maps of the test set are dummies (all void); each label map comes with
colour, instance and polygon files, which must not be taken for it.
"""

from pathlib import Path

import numpy as np
from data.layouts.scene import ellipse, photograph
from PIL import Image

ROAD, CAR, EGO_VEHICLE = 7, 26, 1


def write_cityscapes(root: Path, size=(32, 64), seed: int = 0) -> Path:
    """Two train cities with two frames each, one val city with two, one test city with one."""
    rng = np.random.default_rng(seed)
    frames = [("train", "aachen"), ("train", "zurich"), ("val", "frankfurt"), ("test", "berlin")]
    for subset, city in frames:
        for number in range(1 if subset == "test" else 2):
            stem = f"{city}_{number:06d}_000019"
            car = ellipse(rng, *size)
            labels = np.full(size, ROAD, dtype=np.uint8)
            labels[car] = CAR
            labels[-4:] = EGO_VEHICLE
            if subset == "test":
                labels[:] = 0
            image = root / "leftImg8bit" / subset / city / f"{stem}_leftImg8bit.png"
            fine = root / "gtFine" / subset / city
            image.parent.mkdir(parents=True, exist_ok=True)
            fine.mkdir(parents=True, exist_ok=True)
            Image.fromarray(photograph(rng, car)).save(image)
            Image.fromarray(labels).save(fine / f"{stem}_gtFine_labelIds.png")
            Image.fromarray(photograph(rng, car)).save(fine / f"{stem}_gtFine_color.png")
            Image.fromarray(labels.astype(np.uint16) * 1000).save(fine / f"{stem}_gtFine_instanceIds.png")
            (fine / f"{stem}_gtFine_polygons.json").write_text("{}")
    return root
