"""Kvasir-SEG: 1,000 colonoscopy images of polyps with masks (Jha et al., MMM 2020).

Source: https://datasets.simula.no/kvasir-seg/ (``kvasir-seg.zip``, 46 MB). The images are also in HyperKvasir.
Licence: research and education, with citation (Kvasir-SEG); CC BY 4.0 (the same images in HyperKvasir).

Layout as published, images of 332×487 to 1920×1072 pixels::

    Kvasir-SEG/images/cju0qkwl35piu0993l0dewei2.jpg
    Kvasir-SEG/masks/cju0qkwl35piu0993l0dewei2.jpg      JPEG too: neither black nor white is exact, so cut at 127
    Kvasir-SEG/kavsir_bboxes.json                       spelt so in the first release; not used here

or the same images divided into train, validation and test folders, which are then kept. Otherwise the paper's split
is 80 % train, 10 % validation, 10 % test, drawn with the run's seed.
"""

import re
from pathlib import Path

from sizewise.data.dataset import Dataset
from sizewise.data.label_rule import LabelRule
from sizewise.data.open_options import OpenOptions, refuse_unused
from sizewise.data.pairs import find_cases, has_pairs
from sizewise.data.picture_reader import PictureReader

NAME = "kvasir-seg"
LAYOUT = "images/ and masks/ with kvasir_bboxes.json, or a folder named kvasir-seg with train, validation, test"
SOURCE = "https://datasets.simula.no/kvasir-seg/"
LICENCE = "research and education (Kvasir-SEG); CC BY 4.0 (the same images in HyperKvasir)"

_BOXES = ("kvasir_bboxes.json", "kavsir_bboxes.json", "bounding-boxes.json")
_FILE_NAME = re.compile(r"c[jk][a-z0-9]{23}\.jpe?g", re.IGNORECASE)  # the ids of the annotation tool


def recognise(path: Path) -> bool:
    """Whether the folder is Kvasir-SEG by its boxes file, its own name, or the names of its images."""
    if not path.is_dir():
        return False
    named = re.sub(r"[^a-z]", "", path.resolve().name.lower()) in ("kvasir", "kvasirseg", "hyperkvasirseg")
    if named or any((path / name).is_file() for name in _BOXES):
        return has_pairs(path)
    images = path / "images"
    if not images.is_dir() or not (path / "masks").is_dir():
        return False
    names = [entry.name for entry in images.iterdir() if not entry.name.startswith(".")]
    return bool(names) and all(_FILE_NAME.fullmatch(name) for name in names[:20])


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """Open Kvasir-SEG; its one class leaves nothing to choose."""
    refuse_unused(options, where=NAME, used=("merge",))
    cases, notes = find_cases(path, where=NAME)
    return Dataset(
        name=NAME,
        classes=("background", "polyp"),
        cases=cases,
        reader=PictureReader(LabelRule("threshold", 2), channels=3),
        spatial_dims=2,
        fractions=(0.8, 0.1, 0.1),
        source=SOURCE,
        licence=LICENCE,
        notes=tuple(notes),
    )
