"""AMOS 2022: 15 abdominal organs in CT and MRI.

Source: Ji et al., "AMOS: A Large-Scale Abdominal Multi-Organ Benchmark for Versatile Medical Image Segmentation",
NeurIPS Datasets and Benchmarks 2022, https://arxiv.org/abs/2206.08023, https://amos22.grand-challenge.org.
Licence: its OpenReview page (https://openreview.net/forum?id=Vk4-HUnkEak) names a CC BY-NC licence, users of the
Zenodo record cite it as CC BY 4.0: read the record's own terms. Get it: ``amos22.zip`` of
https://zenodo.org/records/7262581; unpack it and give the folder, which its readme describes so::

    amos22/
      dataset.json                             labels, training, validation, test
      imagesTr/amos_0001.nii.gz  labelsTr/…    200 CT + 40 MRI
      imagesVa/amos_0008.nii.gz  labelsVa/…    100 CT + 20 MRI
      imagesTs/amos_0002.nii.gz                no label maps: scored by the challenge's server

Numbers up to 500 are CT, above it MRI. As in the paper, CT alone is used unless ``modality`` says otherwise, and the
official validation cases are scored. Axes are turned to one orientation, as nnU-Net's converter of AMOS asks for. The
official labels call the aorta "arota"; names are taken from dataset.json.
"""

from dataclasses import replace
from pathlib import Path

from sizewise.data.dataset import Case, Dataset, Subset
from sizewise.data.dataset_json import (
    has_keys,
    labels_by_value,
    listed_cases,
    read_dataset_json,
    stem_of,
    unique_names,
)
from sizewise.data.open_options import OpenOptions
from sizewise.data.volumes import VolumeReader
from sizewise.errors import BadInput

NAME = "amos"
LAYOUT = "imagesTr/amos_0001.nii.gz, labelsTr/, imagesVa/, labelsVa/"
SOURCE = "AMOS 2022, https://zenodo.org/records/7262581, https://arxiv.org/abs/2206.08023"
LICENCE = "a CC BY-NC licence by its OpenReview page, elsewhere cited as CC BY 4.0: read the terms of the Zenodo record"
ORGANS = (
    "spleen", "right kidney", "left kidney", "gall bladder", "esophagus", "liver", "stomach", "aorta", "postcava",
    "pancreas", "right adrenal gland", "left adrenal gland", "duodenum", "bladder", "prostate/uterus",
)  # fmt: skip
LAST_CT = 500
_FOLDERS: tuple[tuple[str, Subset, str, str], ...] = (
    ("training", "train", "imagesTr", "labelsTr"),
    ("validation", "validation", "imagesVa", "labelsVa"),
    ("test", "test", "imagesTs", "labelsTs"),
)


def recognise(path: Path) -> bool:
    """A folder (or the ``amos22`` in it) with imagesTr and imagesVa whose volumes are called amos_NNNN."""
    root = _root(path)
    return (root / "imagesVa").is_dir() and any((root / "imagesTr").glob("amos_*.nii.gz"))


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """Read the lists, or the folders where there is no dataset.json; no volume is decoded yet."""
    root = _root(path)
    labels = dict(enumerate(("background", *ORGANS)))
    info = None
    if has_keys(root, "training", "validation"):
        info = read_dataset_json(root)
        labels = labels_by_value(info, root) if "labels" in info else labels
    cases: list[Case] = []
    for key, subset, images, targets in _FOLDERS:
        if info:
            cases += listed_cases(root, info, key, subset=subset)
        else:
            cases += _cases_in(root, images, targets, subset)
    wanted = options.modality or ("CT",)
    if not set(wanted) <= {"CT", "MRI"}:
        raise BadInput(f"AMOS: modality must be CT, MRI or both, got {', '.join(wanted)}.")
    kept = [case for case in cases if modality_of(case) in wanted]
    if cases and not kept:
        raise BadInput(f"'{root}' has {len(cases)} AMOS cases, but none of {' or '.join(wanted)}. Give `modality`.")
    return Dataset(
        name=NAME,
        classes=("background", "foreground") if options.merge else tuple(labels.values()),
        cases=unique_names(kept, root),
        reader=VolumeReader(
            values=tuple(labels), axes="canonical", channels=1, merge=options.merge, ignore_index=options.ignore_index
        ),
        spatial_dims=3,
        modality=("CT",) if tuple(wanted) == ("CT",) else ("MRI",),
        ignore_index=options.ignore_index,
        source=SOURCE,
        licence=LICENCE,
        notes=_notes(wanted, left_out=len(cases) - len(kept)),
    )


def _notes(wanted: tuple[str, ...], *, left_out: int) -> tuple[str, ...]:
    notes = ["The official validation cases are scored; the test cases have no public label maps."]
    if left_out:
        notes.append(f"{wanted[0]} alone: {left_out} other cases are left out. The paper uses CT; `modality` chooses.")
    if len(wanted) > 1:
        notes.append("CT and MRI together: intensities are scaled case by case, as for MRI.")
    return tuple(notes)


def modality_of(case: Case) -> str:
    """``CT`` or ``MRI``, by the number in the name.

    >>> modality_of(Case("amos_0507", ()))
    'MRI'
    """
    number = case.name.split("_")[1] if "_" in case.name else ""
    if not number.isdigit():
        raise BadInput(f"AMOS: case {case.name} has no number. Wanted a name like amos_0001: it tells CT from MRI.")
    return "CT" if int(number) <= LAST_CT else "MRI"


def _root(path: Path) -> Path:
    return path / "amos22" if (path / "amos22" / "imagesTr").is_dir() else path


def _cases_in(root: Path, images: str, targets: str, subset: Subset) -> list[Case]:
    """The volumes of one folder; where the folder of label maps exists, each is expected in it."""
    has_targets = (root / targets).is_dir()
    return [
        replace(case, target=(root / targets / file.name,)) if has_targets else case
        for file in sorted((root / images).glob("amos_*.nii.gz"))
        for case in [Case(stem_of(file), (file,), subset=subset)]
    ]
