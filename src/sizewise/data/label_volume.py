"""Write labels as NIfTI, where another file lies."""

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from sizewise.files import replacing


def write_label_volume(labels: np.ndarray, path: Path, *, like: Any = None) -> Path:
    """Write whole numbers of whatever shape, in the geometry of an opened NIfTI file; returns the path.

    Args:
        labels: with the axes of ``like``.
        path: ends with .nii.gz or .nii.
        like: None: millimetres along the axes of the array, since nothing else is known.
    """
    if like is None:
        image = nib.Nifti1Image(labels, np.eye(4))
    else:
        header = like.header.copy()
        header.set_data_dtype(labels.dtype)
        header["cal_min"] = header["cal_max"] = 0  # a display window of the image would hide the labels
        header.set_slope_inter(1, 0)
        if len(like.shape) > labels.ndim:  # its last axis was channels
            header.set_intent("none")
        image = nib.Nifti1Image(labels, like.affine, header)
    with replacing(path) as partial:
        nib.save(image, partial)
    return path
