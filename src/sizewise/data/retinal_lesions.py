"""Retinal-Lesions: 1,593 fundus photographs with masks of eight lesions (Wei et al., ICPR 2020).

Source: https://github.com/WeiQijie/retinal-lesions (sent on request; version v20191227).
Licence: research; the photographs are from the Kaggle diabetic retinopathy challenge.

Layout as published, all 896×896::

    images_896x896/1000_left.jpg
    lesion_segs_896x896/1000_left/microaneurysm.png        a file per lesion; a missing file: no such lesion
    dr_grades.csv                                          not used here

Masks are grey: 255 is a lesion; 127 one that does not comply with the AAO guideline for the image's grade. The data
set's authors leave 127 out of their experiments; the released code of the paper that we follow counts it as a lesion,
and so do we. An image may have no masks at all: no lesion.

As in that paper all lesions are one class, split 70 / 10 / 20. ``train.txt``, ``val.txt`` and ``test.txt`` beside the
folders (one image id per line, as that code reads them) override the draw. Both eyes of a patient stay together.
"""

from pathlib import Path

from sizewise.data.dataset import Case, Dataset, Subset
from sizewise.data.file_names import is_picture
from sizewise.data.open_options import OpenOptions, refuse_unused
from sizewise.data.picture_reader import RegionReader
from sizewise.errors import BadInput

NAME = "retinal-lesions"
LAYOUT = "images_896x896/ and lesion_segs_896x896/<image>/<lesion>.png"
SOURCE = "https://github.com/WeiQijie/retinal-lesions"
LICENCE = "research, on request to the authors"

LESIONS = (
    "microaneurysm",
    "retinal_hemorrhage",
    "hard_exudate",
    "cotton_wool_spots",
    "vitreous_hemorrhage",
    "preretinal_hemorrhage",
    "neovascularization",
    "fibrous_proliferation",
)
_IMAGES, _MASKS = "images_896x896", "lesion_segs_896x896"
_LISTS: dict[str, Subset] = {"train.txt": "train", "val.txt": "validation", "test.txt": "test"}


def recognise(path: Path) -> bool:
    """Whether the two folders of the release are there."""
    return (path / _IMAGES).is_dir() and (path / _MASKS).is_dir()


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """Open Retinal-Lesions, all lesions merged into one class: that is how the paper uses it."""
    refuse_unused(options, where=NAME, used=("merge",))
    if not recognise(path):
        raise BadInput(f"{NAME}: wanted the folders {_IMAGES} and {_MASKS} in '{path}'. Source: {SOURCE}")
    images = {image.stem: image for image in sorted((path / _IMAGES).iterdir()) if is_picture(image)}
    if not images:
        raise BadInput(f"{NAME}: no images in '{path / _IMAGES}'.")
    subsets = _read_lists(path, images)
    cases = tuple(
        Case(name, (image,), _masks_of(path / _MASKS / name), group=_patient(name), subset=subsets.get(name, ""))
        for name, image in images.items()
        if not subsets or name in subsets
    )
    without_image = sorted(
        folder.name for folder in (path / _MASKS).iterdir() if folder.is_dir() and folder.name not in images
    )
    notes = ["All lesions are merged into one class; grey 127 (not by the AAO guideline) counts as a lesion."]
    if without_image:
        notes.append(f"{len(without_image)} mask folders have no image, such as '{without_image[0]}'.")
    if subsets:
        notes.append("The split is that of train.txt, val.txt and test.txt in the folder.")
    return Dataset(
        name=NAME,
        classes=("background", "lesion"),
        cases=cases,
        reader=RegionReader(LESIONS, merge=True),
        spatial_dims=2,
        fractions=(0.7, 0.1, 0.2),
        source=SOURCE,
        licence=LICENCE,
        notes=tuple(notes),
    )


def _masks_of(folder: Path) -> tuple[Path | None, ...]:
    files = {file.stem: file for file in folder.iterdir() if is_picture(file)} if folder.is_dir() else {}
    unknown = sorted(files.keys() - set(LESIONS))
    if unknown:
        raise BadInput(f"{NAME}: '{files[unknown[0]]}' is none of the known lesions: {', '.join(LESIONS)}.")
    return tuple(files.get(lesion) for lesion in LESIONS)


def _patient(name: str) -> str:
    """The number before the eye: ``1000_left`` and ``1000_right`` are one patient."""
    return name.rpartition("_")[0] if name.endswith(("_left", "_right")) else name


def _read_lists(path: Path, images: dict[str, Path]) -> dict[str, Subset]:
    """The subset of every image that the three lists name; nothing when they are not all there."""
    if not all((path / name).is_file() for name in _LISTS):
        return {}
    subsets: dict[str, Subset] = {}
    for file, subset in _LISTS.items():
        for line in (path / file).read_text().split():
            name = Path(line).stem
            if name not in images:
                raise BadInput(f"{NAME}: '{path / file}' names '{line}', which is not in '{path / _IMAGES}'.")
            if name in subsets:
                raise BadInput(f"{NAME}: '{line}' is in '{path / file}' and in another list or twice.")
            subsets[name] = subset
    return subsets
