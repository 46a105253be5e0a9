"""Cityscapes, fine annotations: 5,000 street scenes of 2048×1024 pixels, 19 classes (Cordts et al., CVPR 2016).

Source: https://www.cityscapes-dataset.com (account needed): ``leftImg8bit_trainvaltest.zip`` and
``gtFine_trainvaltest.zip``.
Licence: non-commercial research and teaching, as of the data set's own terms.

Layout as published::

    leftImg8bit/{train,val,test}/aachen/aachen_000000_000019_leftImg8bit.png
    gtFine/{train,val,test}/aachen/aachen_000000_000019_gtFine_labelIds.png

Masks hold the label ids 0 … 33 of cityscapesScripts (``helpers/labels.py``). 19 of them are trained on, as train ids
0 … 18; the others are ignored (255). The public masks of the test set are dummies, so test cases have no target; label
maps are written with label ids again, which is what the test server takes. There is no background class.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

import numpy as np
from PIL import Image as Picture

from sizewise.data.dataset import Case, Dataset, Image, Reader, Subset
from sizewise.data.open_options import OpenOptions, refuse_unused
from sizewise.data.picture_reader import read_case_picture
from sizewise.data.pictures import read_label_picture
from sizewise.errors import BadInput
from sizewise.outside_names import case_file

NAME = "cityscapes"
LAYOUT = "leftImg8bit/<train,val,test>/<city>/ and gtFine/<train,val,test>/<city>/"
SOURCE = "https://www.cityscapes-dataset.com"
LICENCE = "non-commercial research and teaching (Cityscapes terms of use)"
IGNORE = 255

# Label id of each trained class, in the order of train ids.
LABEL_IDS = {
    "road": 7, "sidewalk": 8, "building": 11, "wall": 12, "fence": 13, "pole": 17, "traffic light": 19,
    "traffic sign": 20, "vegetation": 21, "terrain": 22, "sky": 23, "person": 24, "rider": 25, "car": 26,
    "truck": 27, "bus": 28, "train": 31, "motorcycle": 32, "bicycle": 33,
}  # fmt: skip
_SETS: dict[str, Subset] = {"train": "train", "val": "validation", "test": "test"}
_IMAGE_END, _LABEL_END = "_leftImg8bit", "_gtFine_labelIds"
_TO_LABEL_ID = np.array(list(LABEL_IDS.values()), dtype=np.uint8)
_TO_TRAIN_ID = np.full(256, IGNORE, dtype=np.uint8)
_TO_TRAIN_ID[_TO_LABEL_ID] = np.arange(len(LABEL_IDS))


@final
@dataclass(frozen=True)
class CityscapesReader(Reader):
    """Reads label ids as train ids, and writes train ids as label ids."""

    @property
    def length_unit(self) -> Literal["mm", "pixels"]:
        return "pixels"

    def image(self, case: Case) -> Image:
        return read_case_picture(case, 3)

    def target(self, case: Case) -> np.ndarray:
        if not case.target or case.target[0] is None:
            raise BadInput(f"Case '{case.name}' ('{case.images[0]}') has no public labels.")
        labels = read_label_picture(case.target[0])
        known = labels.ndim == 2 and labels.dtype == np.uint8 and bool(((labels <= 33) | (labels == IGNORE)).all())
        if not known:
            raise BadInput(
                f"'{case.target[0]}' must hold the label ids 0 to 33 in 8-bit grey. Wanted the _gtFine_labelIds.png of "
                f"{SOURCE}, not colours or instances."
            )
        return _TO_TRAIN_ID[labels]

    def write(self, labels: np.ndarray, case: Case, folder: Path) -> Path:
        """Write ``folder/<city>_<sequence>_<frame>.png`` with label ids in 8-bit grey, as the test server takes it."""
        folder.mkdir(parents=True, exist_ok=True)
        path = case_file(folder, case.name, ".png")
        Picture.fromarray(_TO_LABEL_ID[labels]).save(path)
        return path


def recognise(path: Path) -> bool:
    """Whether there is a ``leftImg8bit`` folder with a subset in it."""
    return any((path / "leftImg8bit" / name).is_dir() for name in _SETS)


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """Open Cityscapes; the official validation set stays validation, and is what can be scored."""
    refuse_unused(options, where=NAME, used=())
    if not recognise(path):
        raise BadInput(f"{NAME}: wanted {LAYOUT} in '{path}'. Source: {SOURCE}")
    cases: list[Case] = []
    for name, subset in _SETS.items():
        for image in sorted((path / "leftImg8bit" / name).glob(f"*/*{_IMAGE_END}.png")):
            stem = image.stem.removesuffix(_IMAGE_END)
            mask = path / "gtFine" / name / image.parent.name / f"{stem}{_LABEL_END}.png"
            target = (mask,) if subset != "test" and mask.is_file() else ()
            cases.append(Case(stem, (image,), target, group=image.parent.name, subset=subset))
    labelled = [case for case in cases if case.target]
    if not labelled:
        raise BadInput(
            f"{NAME}: {len(cases)} images in '{path / 'leftImg8bit'}', but none has its labels in "
            f"'{path / 'gtFine'}/<train,val>/<city>/*{_LABEL_END}.png'. Unpack gtFine_trainvaltest.zip there."
        )
    notes = []
    if any(case.subset == "test" for case in cases):
        notes.append("The test set's labels are not public: predict it, and send the label maps to the test server.")
    return Dataset(
        name=NAME,
        classes=tuple(LABEL_IDS),
        cases=tuple(cases),
        reader=CityscapesReader(),
        spatial_dims=2,
        ignore_index=IGNORE,
        background=False,  # label 0 is road; what is left over has a label of its own
        source=SOURCE,
        licence=LICENCE,
        notes=tuple(notes),
    )
