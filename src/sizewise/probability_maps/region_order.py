"""Overlapping regions as one label map, where nnU-Net's ``dataset.json`` beside them says which lies on top."""

from pathlib import Path

import numpy as np

from sizewise.errors import BadInput
from sizewise.json_files import read_json

KEY = "regions_class_order"


def region_values(folder: Path, channels: int) -> tuple[int, ...]:
    """The label of each channel, of which later ones lie on top; empty where the folder does not say.

    nnU-Net copies its ``dataset.json`` into the folders that it predicts to.
    """
    path = folder / "dataset.json"
    if not path.is_file():
        return ()
    order = read_json(path, hint="Correct or remove it.").get(KEY, ())
    try:
        values = tuple(int(value) for value in order)
    except (ValueError, TypeError) as error:
        raise BadInput(f"'{path}' cannot be read: {KEY}: {error}. Correct or remove it.") from error
    if values and len(values) != channels:
        raise BadInput(
            f"'{path}' has {len(values)} labels in {KEY}, and the probabilities {channels} channels. Correct it, "
            "or remove it."
        )
    return values


def merged(regions: np.ndarray, values: tuple[int, ...]) -> np.ndarray:
    """(*S) labels of (C, *S) regions.

    >>> merged(np.array([[True, True, False], [False, True, False]]), (1, 2)).tolist()
    [1, 2, 0]
    """
    labels = np.zeros(regions.shape[1:], dtype=np.int64)
    for region, value in zip(regions, values, strict=True):
        labels[region > 0] = value
    return labels
