"""IDRiD, lesion segmentation: 81 fundus photographs of 4288×2848 pixels (Porwal et al., Data 2018).

Source: https://ieee-dataport.org/open-access/indian-diabetic-retinopathy-image-dataset-idrid (``A. Segmentation.zip``).
Licence: CC BY 4.0.

Layout as published (masks are palette or colour TIFF: red on black)::

    A. Segmentation/1. Original Images/a. Training Set/IDRiD_01.jpg
    A. Segmentation/2. All Segmentation Groundtruths/a. Training Set/1. Microaneurysms/IDRiD_01_MA.tif

or rearranged as ``train/images/IDRiD_01.jpg``, ``train/masks_MA/IDRiD_01_MA.png``. A missing mask means that the image
has no such lesion. The official split is 54 train and 27 test images; validation is drawn from train by the run.

Regions overlap, so the classes are five sigmoid channels; ``merge`` joins the four lesions (not the optic disc, which
is none) into one class.
"""

import re
from pathlib import Path

from sizewise.data.dataset import Case, Dataset, Subset
from sizewise.data.file_names import is_picture
from sizewise.data.open_options import OpenOptions, refuse_unused
from sizewise.data.picture_reader import RegionReader
from sizewise.errors import BadInput

NAME = "idrid"
LAYOUT = "'1. Original Images' and '2. All Segmentation Groundtruths', or train/images with train/masks_MA, …"
SOURCE = "https://ieee-dataport.org/open-access/indian-diabetic-retinopathy-image-dataset-idrid"
LICENCE = "CC BY 4.0"

CLASSES = {
    "MA": "microaneurysms",
    "HE": "haemorrhages",
    "EX": "hard exudates",
    "SE": "soft exudates",
    "OD": "optic disc",
}
_IMAGES, _MASKS = "1. Original Images", "2. All Segmentation Groundtruths"
_SETS: dict[str, Subset] = {"a. Training Set": "train", "b. Testing Set": "test"}
_REARRANGED: dict[str, Subset] = {"train": "train", "validation": "validation", "test": "test"}


def recognise(path: Path) -> bool:
    """Whether the folder has the published or the rearranged layout."""
    return _official_root(path) is not None or any(
        (path / name / "images").is_dir() and any((path / name / f"masks_{code}").is_dir() for code in CLASSES)
        for name in _REARRANGED
    )


def _official_root(path: Path) -> Path | None:
    return next((root for root in (path, path / "A. Segmentation") if (root / _IMAGES).is_dir()), None)


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """Open IDRiD; ``options.merge`` joins the lesions into one class."""
    refuse_unused(options, where=NAME, used=("merge",))
    if not recognise(path):
        raise BadInput(f"{NAME}: wanted {LAYOUT} in '{path}'. Source: {SOURCE}")
    codes = [code for code in CLASSES if code != "OD"] if options.merge else list(CLASSES)
    root = _official_root(path)
    cases: list[Case] = []
    if root is not None:
        for name, subset in _SETS.items():
            cases += _cases_of(root / _IMAGES / name, _official_masks(root / _MASKS / name), codes, subset)
    else:
        for name, subset in _REARRANGED.items():
            folders = {code: path / name / f"masks_{code}" for code in CLASSES}
            cases += _cases_of(path / name / "images", folders, codes, subset)
    if not any(mask for case in cases for mask in case.target):
        raise BadInput(f"{NAME}: no image in '{path}' has a mask. Wanted {LAYOUT}.")
    names = tuple(CLASSES[code] for code in codes)
    return Dataset(
        name=NAME,
        classes=("background", "lesion") if options.merge else names,
        cases=tuple(cases),
        reader=RegionReader(names, merge=options.merge),
        spatial_dims=2,
        activation="softmax" if options.merge else "sigmoid",
        source=SOURCE,
        licence=LICENCE,
        notes=("The four lesions are merged into one class; the optic disc is background.",) if options.merge else (),
    )


def _official_masks(folder: Path) -> dict[str, Path]:
    """The mask folder of each code: called ``1. Microaneurysms`` and so on, with small changes over releases."""
    if not folder.is_dir():
        return {}
    compact = {re.sub(r"[^a-z]", "", entry.name.lower()): entry for entry in folder.iterdir() if entry.is_dir()}
    wanted = {code: re.sub(r"[^a-z]", "", name) for code, name in CLASSES.items()}
    return {code: compact[name] for code, name in wanted.items() if name in compact}


def _cases_of(images: Path, masks: dict[str, Path], codes: list[str], subset: Subset) -> list[Case]:
    if not images.is_dir():
        return []
    files = {code: _by_case(folder, code) for code, folder in masks.items()}
    pictures = {image.stem: image for image in sorted(images.iterdir()) if is_picture(image)}
    for code, found in files.items():
        orphan = next(iter(sorted(found.keys() - pictures.keys())), None)
        if orphan is not None:
            raise BadInput(f"{NAME}: '{found[orphan]}' has no image '{orphan}' in '{images}' ({CLASSES[code]}).")
    return [
        Case(name, (image,), tuple(files.get(code, {}).get(name) for code in codes), subset=subset)
        for name, image in pictures.items()
    ]


def _by_case(folder: Path, code: str) -> dict[str, Path]:
    if not folder.is_dir():
        return {}
    return {file.stem.removesuffix(f"_{code}"): file for file in sorted(folder.iterdir()) if is_picture(file)}
