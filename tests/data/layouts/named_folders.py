"""Folders whose files are named as those of ACDC, CHASE_DB1 and BUSI; the contents are tiny."""

from pathlib import Path

import numpy as np
from data.layouts.nnunet_layout import write_json
from data.layouts.tiny_volumes import labels, save, scan
from PIL import Image


def write_pictures(root: Path, names, *, empty=(), suffix="", side=12, seed=0) -> Path:
    """images/NAME.png and masks/NAME{suffix}.png, all different; masks of the names in ``empty`` hold nothing."""
    rng = np.random.default_rng(seed)
    for folder in ("images", "masks"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name in names:
        Image.fromarray(rng.integers(0, 255, (side, side, 3), dtype=np.uint8)).save(root / "images" / f"{name}.png")
        mask = np.zeros((side, side), dtype=np.uint8)
        mask[3:6, 3:7] = 0 if name in empty else 255
        Image.fromarray(mask).save(root / "masks" / f"{name}{suffix}.png")
    return root


def acdc_names(patients=100):
    """The end-diastolic frame is the first, the end-systolic one another for each heart."""
    return [
        f"patient{patient:03d}_frame{frame:02d}" for patient in range(1, patients + 1) for frame in (1, 8 + patient % 7)
    ]


def write_acdc(root: Path, patients=100) -> Path:
    """nnU-Net's raw layout, https://www.creatis.insa-lyon.fr/Challenge/acdc: patient074 and 076 are the same images."""
    table = {"background": 0, "RV": 1, "MLV": 2, "LVC": 3}
    frames = {}
    for at, name in enumerate(acdc_names(patients)):
        patient, frame = name[7:10], name[-2:]
        twin = "074" if patient == "076" else patient
        pixels = frames.setdefault((twin, frame == "01"), scan(at, shape=(4, 4, 2)))
        save(root / "imagesTr" / f"{name}_0000.nii.gz", pixels)
        save(root / "labelsTr" / f"{name}.nii.gz", labels(classes=4, shape=(4, 4, 2)))
    write_json(root, channel_names={"0": "MRI"}, labels=table, numTraining=2 * patients, file_ending=".nii.gz")
    return root


def write_chase(root: Path) -> Path:
    """28 fundus images of 14 children, https://blogs.kingston.ac.uk/retinal/chasedb1."""
    names = [f"Image_{child:02d}{eye}" for child in range(1, 15) for eye in "LR"]
    return write_pictures(root, names, suffix="_1stHO")


def write_busi(root: Path, benign=437, malignant=210, normal=133) -> Path:
    """780 ultrasound images, 133 of them normal, with empty masks (Al-Dhabyani et al. 2020)."""
    kinds = {"benign": benign, "malignant": malignant, "normal": normal}
    names = [f"{kind} ({number})" for kind, count in kinds.items() for number in range(1, count + 1)]
    return write_pictures(root, names, empty={name for name in names if name.startswith("normal")}, suffix="_mask")
