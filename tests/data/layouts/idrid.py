"""IDRiD "A. Segmentation": https://ieee-dataport.org/open-access/indian-diabetic-retinopathy-image-dataset-idrid.

Folder and file names as in the archive; masks are palette TIFF, red on black (their grey is 76, as users report).
Few images have soft exudates: those files are missing.
"""

from pathlib import Path

import numpy as np
from data.layouts.scene import ellipse, photograph
from PIL import Image

FOLDERS = {
    "MA": "1. Microaneurysms",
    "HE": "2. Haemorrhages",
    "EX": "3. Hard Exudates",
    "SE": "4. Soft Exudates",
    "OD": "5. Optic Disc",
}


def write_idrid(root: Path, train: int = 4, test: int = 2, size=(48, 72), seed: int = 0) -> Path:
    """The published layout; every second image lacks its soft exudates."""
    rng = np.random.default_rng(seed)
    base = root / "A. Segmentation"
    for number in range(1, train + test + 1):
        subset = "a. Training Set" if number <= train else "b. Testing Set"
        name = f"IDRiD_{number:02d}"
        regions = {code: ellipse(rng, *size, share=0.02) for code in FOLDERS}
        image = base / "1. Original Images" / subset / f"{name}.jpg"
        image.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(photograph(rng, np.logical_or.reduce(list(regions.values())))).save(image)
        for code, region in regions.items():
            if code == "SE" and number % 2:
                continue
            mask = Image.fromarray(region.astype(np.uint8))
            mask.putpalette([0, 0, 0, 255, 0, 0])
            path = base / "2. All Segmentation Groundtruths" / subset / FOLDERS[code] / f"{name}_{code}.tif"
            path.parent.mkdir(parents=True, exist_ok=True)
            mask.save(path)
    return root
