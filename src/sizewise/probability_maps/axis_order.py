"""Whether probabilities lie as the label map beside them: a shape does not tell a volume from its mirror image."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from sizewise.errors import BadInput

SURE = 0.001  # by how much another order must agree better before it is taken for the right one


def check_axes(values: np.ndarray, like: Any, path: Path) -> None:
    """Refuse probabilities whose argmax fits the label map better once it is mirrored or its axes are reversed.

    nnU-Net's reader that reorients images (``NibabelIOWithReorient``) saves probabilities as it turned them, and the
    label map as the image was. Where the file beside them is no label map of these classes there is nothing to check.
    """
    stored = np.asanyarray(like.dataobj)
    if stored.dtype.kind not in "iu" or int(stored.max()) >= len(values) or int(stored.min()) < 0:
        return
    labels = values.argmax(0).astype(stored.dtype).reshape(stored.shape)
    as_it_is = _agreement(labels, stored)
    if as_it_is == 1:
        return
    turned = [np.flip(labels, axes) for axes in _mirrored(labels.ndim) if axes]
    if labels.shape[::-1] == stored.shape:
        turned += [np.flip(labels.transpose(), axes) for axes in _mirrored(labels.ndim)]
    best = max(_agreement(one, stored) for one in turned)
    if best > as_it_is + SURE:
        raise BadInput(
            f"'{path}': the likeliest labels agree with the label map beside it in {100 * as_it_is:.1f} % of the "
            f"pixels, and mirrored or with their axes reversed in {100 * best:.1f} %: the two files do not lie alike. "
            "Save the probabilities with the axes of the label map."
        )


def _mirrored(dims: int) -> list[tuple[int, ...]]:
    return [tuple(axis for axis in range(dims) if flip[axis]) for flip in product((False, True), repeat=dims)]


def _agreement(labels: np.ndarray, stored: np.ndarray) -> float:
    return float((labels == stored).mean())
