"""Kvasir-SEG as published at https://datasets.simula.no/kvasir-seg/: images and masks are JPEG, sizes vary.

The boxes file is called ``kavsir_bboxes.json`` in the archive (the data set's page: ``kvasir_bboxes.json``).
"""

import json
from pathlib import Path

import numpy as np
from data.layouts.scene import ellipse, photograph
from PIL import Image

SIZES = ((48, 64), (64, 48), (56, 56))


def write_kvasir_seg(root: Path, cases: int = 10, seed: int = 0) -> Path:
    """images/, masks/ and kavsir_bboxes.json; names like those of the annotation tool, 25 characters."""
    rng = np.random.default_rng(seed)
    (root / "images").mkdir(parents=True)
    (root / "masks").mkdir()
    boxes = {}
    for number in range(cases):
        name = f"cju{number:02d}" + "".join(rng.choice(list("abcdefghij0123456789"), 20))
        height, width = SIZES[number % len(SIZES)]
        mask = ellipse(rng, height, width)
        Image.fromarray(photograph(rng, mask)).save(root / "images" / f"{name}.jpg", quality=92)
        Image.fromarray(np.where(mask, 255, 0).astype(np.uint8)).convert("RGB").save(
            root / "masks" / f"{name}.jpg", quality=75
        )  # compression leaves values near 0 and near 255, none of them exact
        boxes[name] = {"height": height, "width": width, "bbox": [{"label": "polyp"}]}
    (root / "kavsir_bboxes.json").write_text(json.dumps(boxes))
    return root
