"""Reads the two label maps of a case from whatever file they are in, and says what is wrong with them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sizewise.data.file_names import is_jpeg, is_volume
from sizewise.data.label_rule import LabelRule
from sizewise.data.pictures import read_label_picture
from sizewise.data.volumes import largest_offset_mm, read_volume, whole_numbers
from sizewise.errors import BadInput
from sizewise.evaluate.matching import Pair
from sizewise.metrics.class_masks import nonzero_box
from sizewise.wording import few

WHITE = 255
_LARGEST_ID = 255  # larger values are instance numbers or grey levels, unless the user names classes
_NEAR = 0.1  # of a pixel: corners that two affines put closer than this are in one place


@dataclass(frozen=True)
class LabelMap:
    """A decoded label map.

    Attributes:
        labels: (*S) integers, as in the file, but 0 and 1 where the file is black and white.
        values: the distinct values as in the file.
        white: whether the file is black and white: 255 stands for class 1.
        spacing: mm; None for pictures, whose files do not say.
        affine: of NIfTI.
    """

    labels: np.ndarray
    values: frozenset[int]
    white: bool = False
    spacing: tuple[float, ...] | None = None
    affine: np.ndarray | None = None


@dataclass(frozen=True)
class LabelPair:
    """Both maps of a case: of one kind, one shape and one place."""

    predicted: LabelMap
    target: LabelMap


def read_pair(pair: Pair, *, classes: tuple[int, ...] | None, ignore_index: int | None) -> LabelPair:
    """Read and check a case's two files.

    Args:
        pair: the files.
        classes: the ids that the user named; None: any from 1 to 255 may be one.
        ignore_index: the value in targets that counts for nothing.

    Raises:
        BadInput: with the file's name: unreadable, not whole numbers, values that are no class ids, two shapes, two
            places in the body.
    """
    if is_volume(pair.predicted) != is_volume(pair.target):
        raise BadInput(
            f"'{pair.predicted}' and '{pair.target}' are a picture and a NIfTI file, whose axes do not lie alike. Save "
            "both in one kind."
        )
    named = classes is not None
    known = frozenset({0, *(classes or ()), *(() if ignore_index is None else (ignore_index,))})
    may_be_white = WHITE not in (classes or ())
    predicted = _read_map(pair.predicted, known, named=named, may_be_white=may_be_white)
    target = _read_map(pair.target, known, named=named, may_be_white=may_be_white and ignore_index != WHITE)
    if predicted.labels.ndim != target.labels.ndim:
        raise BadInput(
            f"'{pair.predicted}' is {predicted.labels.ndim}D ({_size(predicted)}), but its target '{pair.target}' is "
            f"{target.labels.ndim}D ({_size(target)}): one is a volume, the other a slice. Give maps of one image."
        )
    if predicted.labels.shape != target.labels.shape:
        raise BadInput(
            f"'{pair.predicted}' has size {_size(predicted)}, but its target '{pair.target}' {_size(target)}. Resample "
            "the prediction to its target, with nearest neighbours."
        )
    _check_place(pair, predicted, target)
    return LabelPair(predicted, target)


def _read_map(path: Path, known: frozenset[int], *, named: bool, may_be_white: bool) -> LabelMap:
    spacing, affine = None, None
    if is_volume(path):
        raw, spacing, affine = read_volume(path)
        raw = whole_numbers(_spatial(raw, path), path)
        spacing = spacing[: raw.ndim]
    elif is_jpeg(path):
        raw = LabelRule("binary", 2).read(path) * np.uint8(WHITE)
    else:
        raw = read_label_picture(path)
        if raw.ndim == 3:
            raise BadInput(
                f"'{path}' holds colours. Wanted a label map with one number a pixel: grey, or with a palette."
            )
    if not raw.size:
        raise BadInput(f"'{path}' has no pixels.")
    values = _distinct(raw)
    if may_be_white and WHITE in values and values <= {0, WHITE}:
        return LabelMap((raw == WHITE).view(np.uint8), values, True, spacing, affine)
    _check_values(path, values, known, named=named)
    return LabelMap(raw, values, False, spacing, affine)


def _distinct(raw: np.ndarray) -> frozenset[int]:
    inside = raw[nonzero_box(raw)]  # the background around everything need not be counted
    found = np.flatnonzero(np.bincount(inside.ravel())) if raw.dtype == np.uint8 else np.unique(inside)
    return frozenset([*found.tolist(), *([0] if inside.size < raw.size else [])])


def _check_values(path: Path, values: frozenset[int], known: frozenset[int], *, named: bool) -> None:
    """Refuse what is no class id; ``named``: the user named the classes, and other ids are background."""
    strange = sorted(values - known)
    if WHITE in strange:
        raise BadInput(
            f"'{path}' holds {_listed(values)}. 255 among other labels usually marks pixels to leave out: say so with "
            "`ignore_index=255`, or name it among the `classes`."
        )
    if wrong := [value for value in strange if value < 0 or (value > _LARGEST_ID and not named)]:
        raise BadInput(
            f"'{path}' holds {_listed(values)}. Wanted class ids 0, 1, …, K−1, or 0 and 255. If {wrong[0]} marks "
            f"pixels to leave out, say `ignore_index={wrong[0]}`; if the ids are meant, name them: `classes`."
        )


def _spatial(raw: np.ndarray, path: Path) -> np.ndarray:
    """A slice as 2D, however many axes of length 1 its file adds; else 3D."""
    axes = 2 if all(length == 1 for length in raw.shape[2:]) else 3
    if raw.ndim < 2 or any(length != 1 for length in raw.shape[axes:]):
        raise BadInput(f"'{path}' has shape {raw.shape}. Wanted one label map, 2D or 3D.")
    return raw.reshape(raw.shape[:axes])


def _check_place(pair: Pair, predicted: LabelMap, target: LabelMap) -> None:
    if predicted.affine is None or target.affine is None or target.spacing is None:
        return
    offset_mm = largest_offset_mm(predicted.affine, target.affine, target.labels.shape)
    if not offset_mm <= _NEAR * min(target.spacing):  # so that NaN is refused
        raise BadInput(
            f"'{pair.predicted}' lies up to {offset_mm:.3g} mm away from its target '{pair.target}': their affines "
            "differ. Resample the prediction to its target, or give both files one affine."
        )


def _size(label_map: LabelMap) -> str:
    return " x ".join(str(length) for length in label_map.labels.shape)


def _listed(values: frozenset[int]) -> str:
    return f"the values {few(sorted(values), most=12)}"
