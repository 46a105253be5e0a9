"""nnU-Net's raw layout (version 2): any data set that nnU-Net trains on, 3D or 2D.

Source: https://github.com/MIC-DKFZ/nnUNet/blob/master/documentation/dataset_format.md, and region_based_training.md and
ignore_label.md beside it. Licence: the data set's own. Give the folder::

    Dataset003_Liver/
      dataset.json                        channel_names, labels (name: value), file_ending
      imagesTr/liver_0_0000.nii.gz        one file per channel: CASE_0000, CASE_0001 …; RGB pictures are one file
      labelsTr/liver_0.nii.gz
      imagesTs/…  labelsTs/…              optional; test cases without label maps are never scored

A label called ``ignore`` marks pixels that count for nothing. Labels that are lists of values are regions, which may
overlap: such a data set is multi-label, and written label maps follow ``regions_class_order`` as nnU-Net's do. Its
version 1 (a list of training cases, ``modality``) is read by ``decathlon``.
"""

import re
from pathlib import Path
from typing import Any

from sizewise.data.dataset import Case, Dataset, Reader, Subset
from sizewise.data.dataset_json import (
    first_spatial_dims,
    has_keys,
    is_file_name,
    read_dataset_json,
    unique_names,
    words_by_channel,
)
from sizewise.data.file_names import NIFTI_ENDINGS
from sizewise.data.label_rule import LabelRule
from sizewise.data.nnunet_labels import Labels, read_labels
from sizewise.data.open_options import OpenOptions
from sizewise.data.picture_reader import PictureReader
from sizewise.data.pictures import picture_channels
from sizewise.data.volumes import VolumeReader
from sizewise.errors import BadInput

NAME = "nnunet-raw"
LAYOUT = "dataset.json with channel_names and labels, imagesTr/CASE_0000.nii.gz, labelsTr/CASE.nii.gz"
PICTURE_ENDINGS = (".png", ".bmp", ".tif", ".tiff")
SOURCE = "in nnU-Net's raw layout, https://github.com/MIC-DKFZ/nnUNet"


def recognise(path: Path) -> bool:
    """A folder whose dataset.json has channel_names, which only nnU-Net's second version uses."""
    return has_keys(path, "channel_names", "labels")


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """Read dataset.json and the folders' names; no image is decoded yet."""
    info = read_dataset_json(path)
    ending = info.get("file_ending")
    if ending not in NIFTI_ENDINGS + PICTURE_ENDINGS:
        raise BadInput(
            f"'{path / 'dataset.json'}': file_ending is {ending!r}. Wanted one of "
            f"{', '.join(NIFTI_ENDINGS + PICTURE_ENDINGS)}; convert other volumes to .nii.gz."
        )
    if not isinstance(info["channel_names"], dict) or not info["channel_names"]:
        raise BadInput(
            f'\'{path / "dataset.json"}\': channel_names must be like {{"0": "CT"}}, got {info["channel_names"]!r:.80}.'
        )
    words = words_by_channel(info["channel_names"])
    labels = read_labels(info, path, merge=options.merge, ignore_index=options.ignore_index)
    has_scored_test = any(_visible(path / "labelsTs", ending))
    train: Subset = "train" if has_scored_test else ""
    cases = _listed(path, info, train) or _in_folders(path, "Tr", ending, subset=train, has_targets=True)
    cases += _in_folders(path, "Ts", ending, subset="test", has_targets=has_scored_test)
    known = unique_names(cases, path)
    turned = info.get("overwrite_image_reader_writer") == "NibabelIOWithReorient"
    reader, spatial_dims, modality = _reader(known, ending, labels, words, path, turned=turned)
    return Dataset(
        name=path.resolve().name,
        classes=labels.classes,
        cases=known,
        reader=reader,
        spatial_dims=spatial_dims,
        modality=options.modality or modality,
        activation="sigmoid" if labels.regions else "softmax",
        ignore_index=labels.ignore_index,
        fractions=(0.8, 0.0, 0.2),  # the size of one of nnU-Net's five folds
        source="; ".join(text for text in (str(info.get("reference", "")), SOURCE) if text),
        licence=str(info.get("licence") or info.get("license") or "not stated in dataset.json"),
        notes=_notes(info, sum(case.subset != "test" for case in known)),
    )


def _in_folders(path: Path, which: str, ending: str, *, subset: Subset, has_targets: bool) -> list[Case]:
    """The cases of imagesTr or imagesTs: files CASE_0000, CASE_0001 … are the channels of CASE."""
    channels: dict[str, list[Path]] = {}
    for file in _visible(path / f"images{which}", ending):
        match = re.fullmatch(r"(.+)_\d{4}", file.name[: -len(ending)])
        if not match:
            raise BadInput(f"'{file}': an image must be called CASE_0000{ending}: four digits that number its channel.")
        channels.setdefault(match[1], []).append(file)
    return [
        Case(name, tuple(files), (path / f"labels{which}" / f"{name}{ending}",) if has_targets else (), subset=subset)
        for name, files in sorted(channels.items())
    ]


def _listed(path: Path, info: dict[str, Any], subset: Subset) -> list[Case]:
    """The cases of dataset.json's own list, ``"dataset": {CASE: {"images": […], "label": …}}``, where it has one."""
    listed = info.get("dataset", {})
    wanted = (
        f'\'{path / "dataset.json"}\': dataset must be like {{CASE: {{"images": ["a.nii.gz"], "label": "b.nii.gz"}}}}'
    )
    if not isinstance(listed, dict):
        raise BadInput(f"{wanted}, got {listed!r:.80}.")
    cases = []
    for name, entry in sorted(listed.items()):
        images, label = (entry.get("images"), entry.get("label")) if isinstance(entry, dict) else (None, None)
        if not isinstance(images, list) or not images or not all(map(is_file_name, [*images, label])):
            raise BadInput(f"{wanted}, got for {name!r:.80}: {entry!r:.80}.")
        cases.append(Case(name, tuple(path / image for image in images), (path / str(label),), subset=subset))
    return cases


def _reader(
    cases: tuple[Case, ...], ending: str, labels: Labels, words: tuple[str, ...], path: Path, *, turned: bool
) -> tuple[Reader, int, tuple[str, ...]]:
    """The reader, the number of spatial axes, and the modality by channel."""
    if ending in NIFTI_ENDINGS:
        spatial_dims = first_spatial_dims(cases)
        volumes = VolumeReader(
            values=labels.values,
            spatial_dims=spatial_dims,
            axes="canonical" if turned and spatial_dims == 3 else "stored",
            channels=len(words),
            merge=labels.merge,
            ignore_index=labels.ignore_index,
            regions=labels.regions,
            region_order=labels.region_order,
        )
        return volumes, spatial_dims, words
    several = next((case for case in cases if len(case.images) > 1), None)
    if several or labels.regions:
        what = f"case {several.name} has {len(several.images)} files" if several else "its labels are regions"
        raise BadInput(
            f"'{path}': pictures are read one file per case, with plain labels, but {what}. Save its channels and "
            "labels as .nii.gz."
        )
    if labels.values != tuple(range(len(labels.values))):
        raise BadInput(
            f"'{path / 'dataset.json'}': labels must be 0, 1, 2 …, got {', '.join(map(str, labels.values))}."
        )
    rule = LabelRule("ids", len(labels.values), ignore=labels.ignore_index, merge=labels.merge)
    return PictureReader(rule, picture_channels(cases[0].images[0])), 2, ("RGB",)


def _visible(folder: Path, ending: str) -> list[Path]:
    return sorted(file for file in folder.glob(f"*{ending}") if not file.name.startswith("."))


def _notes(info: dict[str, Any], found: int) -> tuple[str, ...]:
    promised = info.get("numTraining", found)
    if promised == found:
        return ()
    return (f"dataset.json says numTraining {promised}; there are {found} training cases.",)
