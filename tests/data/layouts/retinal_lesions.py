"""Retinal-Lesions v20191227, https://github.com/WeiQijie/retinal-lesions (README: grey 127 and 255).

Folder names and lesion file names as read by the paper's code, github.com/by-liu/SegLossBias (README, and
seglossbias/data/retinal_lesion_dataset.py). Pictures here are smaller than 896×896.
"""

from pathlib import Path

import numpy as np
from data.layouts.scene import ellipse, photograph
from PIL import Image

LESIONS = ("microaneurysm", "retinal_hemorrhage", "hard_exudate", "cotton_wool_spots")


def write_retinal_lesions(root: Path, patients: int = 6, size: int = 64, seed: int = 0, lists: bool = False) -> Path:
    """Two eyes per patient; the last image has no masks at all; one lesion is marked 127; two lesions overlap."""
    rng = np.random.default_rng(seed)
    (root / "images_896x896").mkdir(parents=True)
    names = [f"{100 + patient}_{eye}" for patient in range(patients) for eye in ("left", "right")]
    for number, name in enumerate(names):
        regions = [ellipse(rng, size, size, share=0.02) for _ in range(2)]
        Image.fromarray(photograph(rng, regions[0] | regions[1])).save(root / "images_896x896" / f"{name}.jpg")
        folder = root / "lesion_segs_896x896" / name
        if name == names[-1]:
            continue
        folder.mkdir(parents=True)
        for position, region in enumerate(regions):
            grey = 127 if number == 0 and position == 0 else 255
            lesion = LESIONS[(number + position) % len(LESIONS)]
            Image.fromarray(np.where(region, grey, 0).astype(np.uint8)).save(folder / f"{lesion}.png")
    (root / "dr_grades.csv").write_text("image id,kaggle label,our label\n" + "".join(f"{n},0,1\n" for n in names))
    if lists:
        for file, part in (("train.txt", names[:6]), ("val.txt", names[6:8]), ("test.txt", names[8:])):
            (root / file).write_text("\n".join(part) + "\n")
    return root
