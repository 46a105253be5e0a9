"""Guess which video frames belong together from how alike they look, where no list says it."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from sizewise.data.pictures import read_picture
from sizewise.errors import BadInput
from sizewise.parallel import map_threads

# Measured on Kvasir-SEG, whose 1,000 images are unrelated: 90 % of the pairs correlate below 0.76, all but 1 in
# 10,000 below 0.94, while a frame and itself moved by 3 % of its width mostly correlate by 0.89 or more. Joining too
# much costs a coarser split; joining too little lets test frames leak into training. So neighbours are joined early.
NEIGHBOURS_ALIKE = 0.75
ANY_ALIKE = 0.95
FLAT_ALIKE = 6.0  # mean difference in grey levels, for frames without contrast

_SIZE = 32


def natural_key(path: Path) -> tuple[tuple[int, int | str], ...]:
    """Sort key that puts ``2.png`` before ``10.png``.

    >>> [p.name for p in sorted([Path("10.png"), Path("2.png")], key=natural_key)]
    ['2.png', '10.png']
    """
    parts = re.split(r"(\d+)", path.stem)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)


def alike_frames(paths: Sequence[Path]) -> tuple[np.ndarray, np.ndarray]:
    """Compare thumbnails of 32×32 pixels.

    Returns:
        (N − 1,) whether each frame looks like the next, and (N, N) whether two frames anywhere are nearly the same.
    """
    thumbnails = np.stack(map_threads(_thumbnail, paths, what="comparing frames"))
    centred = thumbnails - thumbnails.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = centred / np.maximum(norms, 1e-6)
    correlation = unit @ unit.T
    difference = np.abs(thumbnails[1:] - thumbnails[:-1]).mean(axis=1)
    next_alike = (np.diagonal(correlation, offset=1) >= NEIGHBOURS_ALIKE) | (difference <= FLAT_ALIKE)
    return next_alike, correlation >= ANY_ALIKE


def group_frames(paths: Sequence[Path]) -> list[int]:
    """A group number for each frame, given in order of time as far as that is known.

    Neighbours that look alike are linked, and so are any two frames that are nearly the same; a group is whatever is
    linked directly or through others. Groups are numbered from 1 in order of their first frame.
    """
    next_alike, any_alike = alike_frames(paths)
    links = [(frame, frame + 1) for frame in np.flatnonzero(next_alike).tolist()]
    links += [(first, second) for first, second in np.argwhere(np.triu(any_alike, 1)).tolist()]
    return _components(len(paths), links)


def _components(count: int, links: Sequence[tuple[int, int]]) -> list[int]:
    """Number the connected components from 1.

    >>> _components(4, [(0, 2)])
    [1, 2, 1, 3]
    """
    parent = list(range(count))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for first, second in links:
        parent[max(root(first), root(second))] = min(root(first), root(second))
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(node), len(numbers) + 1) for node in range(count)]


def _thumbnail(path: Path) -> np.ndarray:
    try:
        pixels = read_picture(path)
    except BadInput:
        return np.zeros(3 * _SIZE * _SIZE, dtype=np.float32)  # the check will name the file
    colour = np.repeat(pixels, 3, axis=0) if len(pixels) == 1 else pixels
    picture = Image.fromarray(np.ascontiguousarray(colour.transpose(1, 2, 0)))
    small = picture.resize((_SIZE, _SIZE), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32).ravel()
