"""The decathlon's layout with its quirks.

The form of dataset.json is that of the published archives (MONAI's and mmsegmentation's readers document the same). Quirks:
paths begin with "./"; labels are strings and out of order; several modalities are the last axis of a 4D file; hidden "._"
files (https://github.com/MIC-DKFZ/nnUNet/issues/240); test entries are bare names without labels; float label maps.
"""

import json
from pathlib import Path

import numpy as np
from data.layouts.tiny_volumes import labels, save, scan


def write_pancreas(folder: Path, *, cases: int = 6) -> Path:
    """CT with pancreas and tumour, as Task07."""
    root = folder / "Task07_Pancreas"
    names = [f"pancreas_{number:03d}" for number in range(1, cases + 1)]
    for number, name in enumerate(names):
        save(root / "imagesTr" / f"{name}.nii.gz", scan(number))
        save(root / "labelsTr" / f"{name}.nii.gz", labels(classes=3, dtype=np.float32))
        for hidden in ("imagesTr", "labelsTr"):
            (root / hidden / f"._{name}.nii.gz").write_bytes(b"\x00\x05\x16\x07Mac OS X")
    save(root / "imagesTs" / "pancreas_900.nii.gz", scan(900))
    (root / "._dataset.json").write_bytes(b"\x00\x05\x16\x07Mac OS X")
    info = {
        "name": "PANCREAS",
        "description": "Pancreas and cancer segmentation",
        "reference": "Memorial Sloan Kettering Cancer Center",
        "licence": "CC-BY-SA 4.0",
        "release": "1.0 04/05/2018",
        "tensorImageSize": "3D",
        "modality": {"0": "CT"},
        "labels": {"2": "cancer", "0": "background", "1": "pancreas"},
        "numTraining": cases,
        "numTest": 1,
        "training": [{"image": f"./imagesTr/{n}.nii.gz", "label": f"./labelsTr/{n}.nii.gz"} for n in names],
        "test": ["./imagesTs/pancreas_900.nii.gz"],
    }
    (root / "dataset.json").write_text(json.dumps(info))
    return root


def write_brain(folder: Path) -> Path:
    """Four MRI modalities in one 4D file, as Task01; two cases."""
    root = folder / "Task01_BrainTumour"
    for number in (1, 2):
        save(root / "imagesTr" / f"BRATS_{number:03d}.nii.gz", scan(number, channels=4))
        save(root / "labelsTr" / f"BRATS_{number:03d}.nii.gz", labels(classes=4))
    info = {
        "name": "BRATS",
        "tensorImageSize": "4D",
        "modality": {"0": "FLAIR", "1": "T1w", "2": "t1gd", "3": "T2w"},
        "labels": {"0": "background", "1": "edema", "2": "non-enhancing tumor", "3": "enhancing tumour"},
        "numTraining": 484,
        "training": [
            {"image": f"./imagesTr/BRATS_{n:03d}.nii.gz", "label": f"./labelsTr/BRATS_{n:03d}.nii.gz"} for n in (1, 2)
        ],
        "test": [],
    }
    (root / "dataset.json").write_text(json.dumps(info))
    return root
