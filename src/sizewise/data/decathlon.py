"""The Medical Segmentation Decathlon's layout: MSD Liver, Pancreas and the rest, and any data set written like them.

Source: http://medicaldecathlon.com; Antonelli et al., "The Medical Segmentation Decathlon", Nature Communications 2022,
https://arxiv.org/abs/2106.05735. Licence: CC BY-SA 4.0. Get it: download ``Task03_Liver.tar``, ``Task07_Pancreas.tar``
and so on from the page's "Get Data", unpack, and give the folder::

    Task07_Pancreas/
      dataset.json                       name, licence, modality, labels, training (image, label), test (images)
      imagesTr/pancreas_001.nii.gz       4D where there are several modalities: the last axis is the channel
      labelsTr/pancreas_001.nii.gz
      imagesTs/pancreas_002.nii.gz       no label maps: these cases are never scored

The archives hold hidden ``._pancreas_001.nii.gz`` beside the images, which are passed over
(https://github.com/MIC-DKFZ/nnUNet/issues/240).
The test labels are not public. The paper splits the labelled cases at random, 80 % to train and 20 % to score.
"""

from pathlib import Path

from sizewise.data import amos
from sizewise.data.dataset import Dataset
from sizewise.data.dataset_json import (
    first_spatial_dims,
    has_keys,
    labels_by_value,
    listed_cases,
    read_dataset_json,
    unique_names,
    words_by_channel,
)
from sizewise.data.open_options import OpenOptions
from sizewise.data.volumes import VolumeReader
from sizewise.errors import BadInput

NAME = "decathlon"
LAYOUT = "dataset.json with labels and a list of training cases, imagesTr/, labelsTr/"
SOURCE = "Medical Segmentation Decathlon, http://medicaldecathlon.com, https://arxiv.org/abs/2106.05735"


def recognise(path: Path) -> bool:
    """A folder whose dataset.json has a list of training cases; AMOS, which has one too, is its own layout."""
    return has_keys(path, "labels", "training") and not has_keys(path, "channel_names") and not amos.recognise(path)


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """Read the lists; no volume is decoded yet."""
    info = read_dataset_json(path)
    labels = labels_by_value(info, path)
    train = listed_cases(path, info, "training", subset="train")
    validation = listed_cases(path, info, "validation", subset="validation")
    test = listed_cases(path, info, "test", subset="test")
    if not any(case.target for case in validation + test):  # the authors leave the split of the labelled cases open
        train = listed_cases(path, info, "training", subset="")
    cases = unique_names(train + validation + test, path)
    if not any(case.target for case in cases):
        raise BadInput(f"'{path / 'dataset.json'}': no entry of training has a label.")
    words = words_by_channel(info.get("modality"))
    spatial_dims = first_spatial_dims(cases)
    is_msd = path.resolve().name.lower().startswith("task")
    return Dataset(
        name=path.resolve().name,
        classes=("background", "foreground") if options.merge else tuple(labels.values()),
        cases=cases,
        reader=VolumeReader(
            values=tuple(labels),
            spatial_dims=spatial_dims,
            channels=len(words),
            merge=options.merge,
            ignore_index=options.ignore_index,
        ),
        spatial_dims=spatial_dims,
        modality=options.modality or words or ("MRI",),
        ignore_index=options.ignore_index,
        fractions=(0.8, 0.0, 0.2),
        source="; ".join(text for text in (SOURCE if is_msd else "", str(info.get("reference", ""))) if text),
        licence=str(info.get("licence") or info.get("license") or "not stated in dataset.json"),
        notes=_notes(info, len(train), words),
    )


def _notes(info: dict, listed: int, words: tuple[str, ...]) -> tuple[str, ...]:
    notes = []
    promised = info.get("numTraining", listed)
    if promised != listed:
        notes.append(f"dataset.json says numTraining {promised} and lists {listed} training cases.")
    if not words:
        notes.append("dataset.json names no modality: intensities are scaled as for MRI. `modality=CT` changes that.")
    return tuple(notes)
