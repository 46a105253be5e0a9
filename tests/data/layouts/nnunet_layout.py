"""nnU-Net's raw layout, version 2, and the list of version 1.

Form: https://github.com/MIC-DKFZ/nnUNet/blob/master/documentation/dataset_format.md, region_based_training.md and
ignore_label.md there.
"""

import json
from pathlib import Path

import numpy as np
from data.layouts.tiny_volumes import labels, save, scan
from PIL import Image


def write_json(root: Path, **content: object) -> None:
    root.mkdir(parents=True, exist_ok=True)
    (root / "dataset.json").write_text(json.dumps(content))


def write_prostate(folder: Path, *, label_table: dict | None = None, **extra: object) -> Path:
    """Two channels in a file each, four cases, an unlabelled test case."""
    root = folder / "Dataset005_Prostate"
    table = label_table or {"background": 0, "PZ": 1, "TZ": 2}
    for number in range(4):
        for channel in range(2):
            save(root / "imagesTr" / f"prostate_{number:02d}_{channel:04d}.nii.gz", scan(10 * number + channel))
        save(root / "labelsTr" / f"prostate_{number:02d}.nii.gz", labels(classes=4 if label_table else 3))
    for channel in range(2):
        save(root / "imagesTs" / f"prostate_77_{channel:04d}.nii.gz", scan(channel))
    write_json(
        root,
        channel_names={"0": "T2", "1": "ADC"},
        labels=table,
        numTraining=4,
        file_ending=".nii.gz",
        overwrite_image_reader_writer="SimpleITKIO",
        **extra,
    )
    return root


def write_roads(folder: Path) -> Path:
    """2D RGB pictures, one PNG a case, with labelled test cases, as nnU-Net's Dataset120."""
    root = folder / "Dataset120_RoadSegmentation"
    rng = np.random.default_rng(0)
    for which, count in (("Tr", 5), ("Ts", 2)):
        for number in range(count):
            for sub in ("images", "labels"):
                (root / f"{sub}{which}").mkdir(parents=True, exist_ok=True)
            pixels = rng.integers(0, 255, (12, 10, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / f"images{which}" / f"{which}-{number}_0000.png")
            mask = (pixels[..., 0] > 128).astype(np.uint8)
            Image.fromarray(mask).save(root / f"labels{which}" / f"{which}-{number}.png")
    write_json(
        root,
        channel_names={"0": "R", "1": "G", "2": "B"},
        labels={"background": 0, "road": 1},
        numTraining=5,
        file_ending=".png",
    )
    return root
