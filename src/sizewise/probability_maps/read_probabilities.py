"""One file of probabilities as an array with the classes first and the axes of its label map, or a sentence."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sizewise.data.volumes import open_volume, read_volume
from sizewise.errors import BadInput
from sizewise.probability_maps.axis_order import check_axes
from sizewise.probability_maps.probability_files import ProbabilityFile

KEY = "probabilities"
NEAR_ONE = 0.02  # by how much a pixel's sum may be off: half precision, and many classes
_UNREADABLE = (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile)


@dataclass(frozen=True)
class ProbabilityMap:
    """The probabilities of one case.

    Attributes:
        values: (K, *S) float32 or float16.
        like: the opened NIfTI file that says where they lie; None for pictures, and where nothing says it.
    """

    values: np.ndarray
    like: Any = None

    @property
    def is_picture(self) -> bool:
        """Whether the label map is a picture: two axes, and no NIfTI file beside it."""
        return self.values.ndim == 3 and self.like is None


def read_probabilities(file: ProbabilityFile, *, activation: str) -> ProbabilityMap:
    """Read and check one case; whatever is unclear is a BadInput that names the file."""
    if file.path == file.beside:
        found = _from_volume(file.path, activation)
    else:
        array = _array(file.path)
        found = _from_nnunet(file, array) if file.path.suffix.lower() == ".npz" else _classes_first(file, array)
    values = found.values
    if values.size == 0 or values.dtype.kind != "f":
        raise BadInput(
            f"'{file.path}' holds {values.dtype} of shape {values.shape}. Wanted probabilities: numbers from 0 to 1."
        )
    values = values if values.dtype == np.float16 else values.astype(np.float32, copy=False)
    check_values(values, file.path, activation=activation)
    if file.path != file.beside and found.like is not None and activation == "softmax":
        check_axes(values, found.like, file.path)
    return ProbabilityMap(values, found.like)


def check_values(values: np.ndarray, path: Path, *, activation: str) -> None:
    """Refuse what are no probabilities, or those of another activation."""
    low, high = float(values.min()), float(values.max())  # NaN in either where there is one
    if np.isnan(low):
        raise BadInput(f"'{path}' holds NaN. Wanted probabilities, from 0 to 1: predict the case again.")
    if not (low >= 0 and high <= 1 + 1e-3):
        raise BadInput(
            f"'{path}' holds values from {low:.3g} to {high:.3g}. Wanted probabilities, from 0 to 1; raw scores have "
            "to go through a softmax or a sigmoid first."
        )
    if activation == "sigmoid":
        return
    if len(values) == 1:
        raise BadInput(f"'{path}' has one channel. If it is the foreground's, use `activation=sigmoid`.")
    if _adds_up(values, 0):
        return
    if _adds_up(values, values.ndim - 1):
        raise BadInput(
            f"'{path}' has shape {values.shape}, and its last axis looks like the classes. Wanted them first: (K, *S)."
        )
    sums = values.sum(0, dtype=np.float32)
    raise BadInput(
        f"'{path}': the {len(values)} probabilities of a pixel add up to between {sums.min():.3g} and "
        f"{sums.max():.3g}, where a softmax's add up to 1. If they are of regions that may overlap, as in nnU-Net's "
        "region-based training, use `activation=sigmoid`: each is then decided by itself."
    )


def check_background(background: int | None, classes: int, path: Path) -> None:
    """Refuse a background that is no class of these probabilities, of which there are ``classes``."""
    if background is not None and background >= classes:
        raise BadInput(
            f"`background` is {background}, and '{path}' has the classes 0 to {classes - 1}. Name one of them, or none "
            "if every class is scored."
        )


def _adds_up(values: np.ndarray, axis: int) -> bool:
    return bool((np.abs(values.sum(axis, dtype=np.float32) - 1) <= NEAR_ONE).all())


def _array(path: Path) -> np.ndarray:
    try:
        with path.open("rb") as file:  # numpy leaves a broken archive open
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            if KEY not in found:
                raise BadInput(f"'{path}' holds {', '.join(found.files) or 'nothing'}. Wanted an array called {KEY}.")
            return found[KEY]
    except BadInput:
        raise
    except (MemoryError, OverflowError) as error:
        raise BadInput(
            f"'{path}' does not fit into memory, by what its header says. Copy it again, or crop the case."
        ) from error
    except _UNREADABLE as error:
        raise BadInput(f"'{path}' cannot be read: {error}. Copy it again, or predict the case again.") from error


def _from_nnunet(file: ProbabilityFile, array: np.ndarray) -> ProbabilityMap:
    """nnU-Net's axes are z, y, x, and NIfTI's the other way round; pictures have a z of length 1."""
    if array.ndim == 4 and file.beside is not None:
        return _placed(file, array.transpose(0, 3, 2, 1), "(K, z, y, x)")
    if array.ndim == 4 and array.shape[1] == 1:
        return ProbabilityMap(array[:, 0])
    if array.ndim == 3 and file.beside is None:
        return ProbabilityMap(array)
    if array.ndim == 4:
        raise BadInput(
            f"'{file.path}' is a volume, and no label map lies beside it that says where it is. Wanted "
            f"'{file.case}.nii.gz' in the same folder, as nnU-Net writes it."
        )
    raise BadInput(f"'{file.path}' has shape {array.shape}. Wanted (K, z, y, x), as nnU-Net writes it.")


def _classes_first(file: ProbabilityFile, array: np.ndarray) -> ProbabilityMap:
    if array.ndim not in (3, 4):
        raise BadInput(f"'{file.path}' has shape {array.shape}. Wanted (K, H, W), or (K, X, Y, Z) for a volume.")
    if file.beside is not None:
        return _placed(file, array, "(K, *S)")
    return ProbabilityMap(array)


def _placed(file: ProbabilityFile, values: np.ndarray, axes: str) -> ProbabilityMap:
    """With the geometry of the file beside it, whose size must be the same but for axes of length 1 at the end."""
    assert file.beside is not None
    like = open_volume(file.beside)
    wanted, given = _without_ones(like.shape), _without_ones(values.shape[1:])
    if wanted != given:
        raise BadInput(
            f"'{file.path}' has size {given}, and '{file.beside.name}' beside it {wanted}, read as {axes}. Wanted "
            "probabilities and label map of one case, in one order of the axes."
        )
    return ProbabilityMap(values.reshape(len(values), *like.shape[:3]), like)


def _from_volume(path: Path, activation: str) -> ProbabilityMap:
    """NIfTI has channels last; a class axis that was put first is told from its sums, or refused."""
    array, _, _ = read_volume(path)
    like = open_volume(path)
    if array.ndim == 5 and array.shape[3] == 1:  # a vector a voxel, as some tools store it
        array = array[:, :, :, 0]
    if array.ndim != 4:
        raise BadInput(f"'{path}' has shape {array.shape}. Wanted (X, Y, Z, K): three axes of space, then the classes.")
    if activation == "softmax" and array.dtype.kind == "f" and not _adds_up(array, 3) and _adds_up(array, 0):
        raise BadInput(
            f"'{path}' has shape {array.shape}, and its first axis looks like the classes. Its geometry is then that "
            "of other axes: save it with the classes last, (X, Y, Z, K)."
        )
    return ProbabilityMap(np.moveaxis(array, -1, 0), like)


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Without axes of length 1 at the end.

    >>> _without_ones((5, 4, 1))
    (5, 4)
    """
    kept = list(shape)
    while len(kept) > 2 and kept[-1] == 1:
        kept.pop()
    return tuple(int(length) for length in kept)
