"""CVC-ClinicDB: https://polyp.grand-challenge.org/CVCClinicDB/ (Original, Ground Truth: 1.tif … 612.tif).

The Kaggle copy adds PNG/ and TIF/ above them and a metadata.csv with frame_id, sequence_id and four path columns.
Frames of one sequence are nearly equal: the fixture moves one scene by a pixel per frame.
"""

from pathlib import Path

import numpy as np
from data.layouts.scene import ellipse, photograph
from PIL import Image


def write_cvc_clinicdb(
    root: Path, *, lengths=(6, 5, 4, 6, 5, 4), names=None, extension="tif", kaggle=False, size=(36, 48), seed=0
) -> Path:
    """Sequences of the given lengths; ``names`` replaces the running frame numbers."""
    rng = np.random.default_rng(seed)
    top = root / ("PNG" if extension == "png" else "TIF") if kaggle else root
    originals, masks = top / "Original", top / "Ground Truth"
    originals.mkdir(parents=True)
    masks.mkdir()
    rows = ["frame_id,sequence_id,tif_image_path,tif_mask_path,png_image_path,png_mask_path"]
    frame = 0
    for sequence, length in enumerate(lengths, start=1):
        scene, mask = _scene(rng, *size)
        for step in range(length):
            frame += 1
            name = str(frame) if names is None else names[frame - 1]
            moved = np.roll(scene, step, axis=1)
            noisy = np.clip(moved + rng.normal(0, 3, moved.shape), 0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(originals / f"{name}.{extension}")
            Image.fromarray(np.where(np.roll(mask, step, axis=1), 255, 0).astype(np.uint8)).save(
                masks / f"{name}.{extension}"
            )
            rows.append(
                f"{name},{sequence},TIF/Original/{name}.tif,TIF/Ground Truth/{name}.tif,"
                f"PNG/Original/{name}.png,PNG/Ground Truth/{name}.png"
            )
    if kaggle:
        (root / "metadata.csv").write_text("\n".join(rows) + "\n")
    return root


def _scene(rng, height, width):
    """Broad shades that differ from scene to scene, as two colons do, with a polyp on them."""
    mask = ellipse(rng, height, width)
    coarse = rng.uniform(0, 255, (4, 4, 3)).astype(np.uint8)
    shades = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC), dtype=float)
    return 0.7 * shades + 0.3 * photograph(rng, mask), mask
