"""How far apart two surfaces are: NSD and HD95 as DeepMind's surface-distance package defines them, in 2D and 3D.

The surface of a mask lies on the corners of its pixels. A corner has 2^d neighbours (outside the image counts as
background); unless these are all alike, a piece of surface passes there, whose length or area follows from which of
them are inside (marching squares and cubes). That table is the package's own, so that areas agree to the last bit. The
rest is written for speed: distances come from a search tree over the surface, since that has far fewer points than
the image has pixels, and from a distance transform only when the surface is so ragged that the tree would be slower.

Reference: Nikolov et al., Clinically applicable segmentation of head and neck anatomy, JMIR 2021.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.spatial import cKDTree
from surface_distance import lookup_tables

CORNERS_PER_POINT = 6  # the tree is faster while the grid has more corners per surface point than this (measured)


@dataclass(frozen=True)
class SurfaceDistances:
    """Distances in mm from each surface element to the other surface, ascending, with the elements' lengths or areas.

    Attributes:
        predicted: (2, n): distances to the target's surface, and areas.
        target: (2, m): distances to the predicted surface, and areas.
    """

    predicted: np.ndarray
    target: np.ndarray


def surface_distances(predicted: np.ndarray, target: np.ndarray, *, spacing: Sequence[float]) -> SurfaceDistances:
    """Measure both surfaces against each other; neither mask may be empty.

    Args:
        predicted: (*S) bool, 2D or 3D.
        target: (*S) bool.
        spacing: mm between neighbours along each axis.

    >>> mask = np.zeros((4, 4), bool)
    >>> mask[1, 1] = True
    >>> surface_distances(mask, np.roll(mask, 1, axis=0), spacing=(1, 1)).target[0].tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    areas = element_areas(tuple(float(step) for step in spacing))
    here, there = _surface(predicted, areas), _surface(target, areas)
    return SurfaceDistances(
        predicted=_sorted(_distances(here, there, spacing), here.areas),
        target=_sorted(_distances(there, here, spacing), there.areas),
    )


def nsd(distances: SurfaceDistances, *, tolerance_mm: float) -> float:
    """Normalised surface Dice: the share of both surfaces that lies within the tolerance of the other.

    >>> mask = np.zeros((4, 4), bool)
    >>> mask[1, 1] = True
    >>> moved = surface_distances(mask, np.roll(mask, 1, axis=0), spacing=(1, 1))
    >>> nsd(moved, tolerance_mm=0.5), nsd(moved, tolerance_mm=1.0)
    (0.5, 1.0)
    """
    near = sum(side[1, side[0] <= tolerance_mm].sum() for side in (distances.target, distances.predicted))
    return float(near / (distances.target[1].sum() + distances.predicted[1].sum()))


def hd95(distances: SurfaceDistances) -> float:
    """Robust Hausdorff distance in mm: the larger of both surfaces' 95th percentiles, weighted by area.

    >>> mask = np.zeros((4, 4), bool)
    >>> mask[1, 1] = True
    >>> hd95(surface_distances(mask, np.roll(mask, 1, axis=0), spacing=(3, 1)))
    3.0
    """
    percentiles = []
    for far, area in (distances.target, distances.predicted):
        rank = np.searchsorted(np.cumsum(area) / np.sum(area), 0.95)
        percentiles.append(far[min(rank, len(far) - 1)])
    return float(max(percentiles))


@lru_cache(maxsize=64)
def element_areas(spacing: tuple[float, ...]) -> np.ndarray:
    """Length (2D, 16 codes) or area (3D, 256 codes) of the surface element of each neighbour code.

    >>> element_areas((1.0, 2.0))[[0b0011, 0b0101]].tolist()
    [2.0, 1.0]
    """
    if len(spacing) == 2:
        return lookup_tables.create_table_neighbour_code_to_contour_length(spacing)
    if len(spacing) == 3:
        return lookup_tables.create_table_neighbour_code_to_surface_area(spacing)
    raise ValueError(f"surface metrics: masks must be 2D or 3D, got {len(spacing)} axes.")


def neighbour_codes(mask: np.ndarray) -> np.ndarray:
    """For each corner of the grid, one bit per pixel around it; the first pixel in C order is the highest bit.

    >>> neighbour_codes(np.array([[True]])).tolist()
    [[1, 2], [4, 8]]
    """
    codes = np.zeros([length + 2 for length in mask.shape], np.uint8)
    codes[(slice(1, -1),) * mask.ndim] = mask
    for axis in reversed(range(mask.ndim)):  # each axis doubles the bits: first those before the corner, then after
        bits = 1 << (mask.ndim - 1 - axis)
        before = codes[(slice(None),) * axis + (slice(None, -1),)]
        after = codes[(slice(None),) * axis + (slice(1, None),)]
        codes = (before << np.uint8(bits)) | after
    return codes


@dataclass(frozen=True)
class _Surface:
    """The corners of the grid that a surface passes: where, as flat indices, as coordinates (n, d), and how much."""

    grid: np.ndarray
    flat: np.ndarray
    places: np.ndarray
    areas: np.ndarray


def _surface(mask: np.ndarray, areas: np.ndarray) -> _Surface:
    codes = neighbour_codes(mask)
    grid = (codes != 0) & (codes != (1 << (1 << mask.ndim)) - 1)  # neighbours that are not all alike
    flat = np.flatnonzero(grid)
    places = np.stack(np.unravel_index(flat, grid.shape), axis=1)
    return _Surface(grid, flat, places, areas[codes.ravel()[flat]])


def _distances(here: _Surface, there: _Surface, spacing: Sequence[float]) -> np.ndarray:
    """From each point of one surface to the nearest of the other."""
    if CORNERS_PER_POINT * max(len(here.flat), len(there.flat)) > here.grid.size:
        return distance_transform_edt(~there.grid, sampling=spacing).ravel()[here.flat]
    apart = ~there.grid.ravel()[here.flat]  # shared points need no search
    found = np.zeros(len(apart))
    if apart.any():
        steps, queries = np.asarray(spacing, float), here.places[apart]
        nearest = cKDTree(there.places * steps, balanced_tree=False).query(queries * steps)[1]
        # Computed from whole numbers, as the transform does: the tree's own distance may differ in the last bit.
        found[apart] = np.sqrt((((queries - there.places[nearest]) * steps) ** 2).sum(1))
    return found


def _sorted(distances: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Ascending by distance, then area: the order decides the last bit of the sums, and ties at the percentile."""
    order = np.lexsort((areas, distances))
    return np.stack([distances[order], areas[order]])
