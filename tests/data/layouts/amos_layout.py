"""AMOS 2022 as its readme and nnU-Net's Dataset218 converter describe it, with the official label names.

https://zenodo.org/records/7262581; nnunetv2/dataset_conversion/Dataset218_Amos2022_task1.py. Quirks: the official spelling
"arota"; CT and MRI in one folder, told apart by number; test entries are objects without a label.
"""

import json
from pathlib import Path

import numpy as np
from data.layouts.tiny_volumes import labels, save, scan

OFFICIAL_LABELS = (
    "background", "spleen", "right kidney", "left kidney", "gall bladder", "esophagus", "liver", "stomach", "arota",
    "postcava", "pancreas", "right adrenal gland", "left adrenal gland", "duodenum", "bladder", "prostate/uterus",
)  # fmt: skip
NUMBERS = {"Tr": (1, 4, 5, 6, 507), "Va": (8, 13, 508), "Ts": (2, 500, 551)}


def write_amos(folder: Path, *, with_json: bool = True) -> Path:
    root = folder / "amos22"
    for which, numbers in NUMBERS.items():
        for number in numbers:
            name = f"amos_{number:04d}.nii.gz"
            save(root / f"images{which}" / name, scan(number))
            if which != "Ts":
                save(root / f"labels{which}" / name, labels(classes=16, dtype=np.uint16))
    if with_json:
        lists = {
            key: [
                {"image": f"./images{which}/amos_{number:04d}.nii.gz"}
                | ({} if which == "Ts" else {"label": f"./labels{which}/amos_{number:04d}.nii.gz"})
                for number in NUMBERS[which]
            ]
            for key, which in (("training", "Tr"), ("validation", "Va"), ("test", "Ts"))
        }
        table = {str(value): name for value, name in sorted(enumerate(OFFICIAL_LABELS), key=lambda row: str(row[0]))}
        info = {"name": "AMOS", "modality": {"0": "CT", "1": "MRI"}, "labels": table, **lists}
        (root / "dataset.json").write_text(json.dumps(info))
    return root
