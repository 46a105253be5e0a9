"""Connected components of a mask, and the cells around them: each pixel belongs to the nearest component.

numpy and scipy are imported when they are used, so that the losses need torch alone until a component is asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

MOST_LOOKED_UP = 1 << 22
"""Places that are looked up at once where cells tie: some tens of MB."""


def scipy_ndimage() -> Any:
    """scipy's image functions, or a sentence that names what to install."""
    try:
        from scipy import ndimage
    except ImportError as error:
        raise ImportError(
            "sizewise: components are found with scipy, which is not installed. Install it with: pip install "
            "'sizewise[components]'"
        ) from error
    return ndimage


def label_components(mask: "np.ndarray") -> "tuple[np.ndarray, int]":
    """Number the connected components of a bool mask from 1, corners included (8 neighbours in 2D, 26 in 3D).

    >>> import numpy as np
    >>> label_components(np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]], bool))[1]
    1
    """
    import numpy as np

    numbers, count = scipy_ndimage().label(mask, np.ones((3,) * mask.ndim, bool))
    return numbers, int(count)


def cells_of(mask: "np.ndarray") -> "tuple[np.ndarray, int]":
    """For each pixel the number of the component of ``mask`` that is nearest to it, and how many components there are.

    Nearest is by Euclidean distance between pixels; of several at the same distance it is the one with the lowest
    number. Without a component every pixel has 0.

    >>> import numpy as np
    >>> cells_of(np.array([1, 0, 0, 0, 1, 0], bool))[0].tolist()
    [1, 1, 1, 2, 2, 2]
    """
    import numpy as np

    numbers, count = label_components(mask)
    if count <= 1:
        return np.full(mask.shape, count, np.int32), count
    nearest = scipy_ndimage().distance_transform_edt(numbers == 0, return_distances=False, return_indices=True)
    cells = numbers[tuple(nearest)].astype(np.int32)
    _settle_ties(cells, numbers, nearest)
    return cells, count


def _settle_ties(cells: "np.ndarray", numbers: "np.ndarray", nearest: "np.ndarray") -> None:
    """Give pixels with several nearest components to the one with the lowest number.

    The distance transform names any of them. Such a pixel lies where its cell meets one with a lower number, so those
    are looked at, and then the neighbours of every pixel that changed hands.
    """
    import numpy as np

    ndimage = scipy_ndimage()
    todo = (ndimage.minimum_filter(cells, size=3, mode="nearest") < cells) & (numbers == 0)
    done = numbers > 0
    while todo.any():
        places = np.argwhere(todo)
        done |= todo
        found = _lowest_at_distance(places, numbers, nearest[(slice(None), *places.T)].T - places)
        changed = found < cells[tuple(places.T)]
        moved = np.zeros_like(todo)
        moved[tuple(places[changed].T)] = True
        cells[tuple(places[changed].T)] = found[changed]
        todo = ndimage.binary_dilation(moved, np.ones((3,) * cells.ndim, bool)) & ~done if changed.any() else moved


def _lowest_at_distance(places: "np.ndarray", numbers: "np.ndarray", steps: "np.ndarray") -> "np.ndarray":
    """The lowest component number at exactly the distance |steps| of each place, (n,); steps are (n, D)."""
    import numpy as np

    squares = (steps.astype(np.int64) ** 2).sum(1)
    radius = int(np.sqrt(squares.max())) + 1
    none = np.iinfo(np.int32).max
    # With a margin of that radius, every look-up is one addition to a flat index.
    padded = np.pad(np.where(numbers > 0, numbers, none).astype(np.int32), radius, constant_values=none)
    strides = np.array(padded.strides) // padded.itemsize
    centres = (places + radius) @ strides
    axes = np.meshgrid(*[np.arange(radius + 1)] * numbers.ndim, indexing="ij")
    ring = np.stack([axis.ravel() for axis in axes], 1)  # one corner of all that can be reached; the signs follow
    lengths = (ring.astype(np.int64) ** 2).sum(1)
    order = np.argsort(lengths, kind="stable")
    ring, lengths = ring[order], lengths[order]
    starts, ends = np.searchsorted(lengths, squares, "left"), np.searchsorted(lengths, squares, "right")
    signs = np.stack(np.meshgrid(*[(1, -1)] * numbers.ndim, indexing="ij"), -1).reshape(-1, numbers.ndim)
    offsets = [ring @ (sign * strides) for sign in signs]
    sizes = ends - starts
    total = np.concatenate([[0], np.cumsum(sizes)])
    found = np.empty(len(places), np.int32)
    first = 0
    while first < len(places):
        last = max(first + 1, int(np.searchsorted(total, total[first] + MOST_LOOKED_UP, "right")) - 1)
        own = np.repeat(np.arange(first, last), sizes[first:last])
        on_ring = np.arange(len(own)) + (starts - total[:-1] + total[first])[own]
        here = centres[own]
        best = np.full(len(own), none, np.int32)
        for offset in offsets:
            np.minimum(best, padded.ravel()[here + offset[on_ring]], out=best)
        found[first:last] = np.minimum.reduceat(best, total[first:last] - total[first])
        first = last
    return found
