"""Draw one synthetic scan: regions of chosen proportions, then intensities with texture, look-alikes and noise.

Case ``index`` of ``seed`` is a pure function of the two. Labels and intensities come from separate random streams, so
that a label map can be drawn without its image.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

BACKGROUND, ORGAN, CYST, LESION = range(4)


@dataclass(frozen=True)
class Scene:
    """What the drawings have in common.

    Attributes:
        shape: pixels or voxels along each axis.
        spacing: millimetres along each axis; regions are round in millimetres, not in voxels.
        organ, cyst, lesion: smallest and largest share of the image; each case draws its shares log-uniformly.
        lesion_free: share of the cases without a lesion.
        contrast: how much brighter than the organ a lesion is, in the mean; organ and background are 1 apart.
        noise: standard deviation of the pixel noise.
        texture: standard deviation of each of the two waves of tissue texture.
        look_alikes: spots that are no lesions, per image.
    """

    shape: tuple[int, ...]
    spacing: tuple[float, ...]
    organ: tuple[float, float] = (0.15, 0.35)
    cyst: tuple[float, float] = (0.02, 0.07)
    lesion: tuple[float, float] = (0.006, 0.022)
    lesion_free: float = 0.1
    contrast: float = 1.4
    noise: float = 0.25
    texture: float = 0.12
    look_alikes: int = 1


def draw_labels(scene: Scene, seed: int, index: int) -> np.ndarray:
    """(*S) uint8 class ids; each region has exactly the number of pixels that its drawn share asks for."""
    rng = np.random.default_rng([seed, index, 0])
    labels = np.zeros(scene.shape, dtype=np.uint8)
    everywhere = np.ones(scene.shape, dtype=bool)
    centre = rng.uniform(0.35, 0.65, len(scene.shape))
    _fill(labels, everywhere, scene, rng, centre=centre, share=scene.organ, roughness=0.45, label=ORGAN)
    side = rng.normal(size=len(scene.shape))
    beside = np.clip(centre + 0.3 * side / np.linalg.norm(side), 0.12, 0.88)  # at the organ's edge, in and out of it
    _fill(labels, everywhere, scene, rng, centre=beside, share=scene.cyst, roughness=0.35, label=CYST)
    if rng.random() >= scene.lesion_free:
        organ = labels == ORGAN
        spots = np.argwhere(organ)
        inside = spots[rng.integers(len(spots))] / np.array(scene.shape)
        _fill(labels, organ, scene, rng, centre=inside, share=scene.lesion, roughness=0.3, label=LESION)
    return labels


def draw_image(scene: Scene, labels: np.ndarray, seed: int, index: int) -> np.ndarray:
    """(*S) float32 intensities over the labels.

    Look-alikes make it hard: spots as bright as lesions outside the organ, dark spots inside it, tissue texture whose
    waves are as large as a lesion, edges blurred by partial volumes, a brightness that drifts over the image.
    """
    rng = np.random.default_rng([seed, index, 1])
    organ, cyst = 1.0 + rng.normal(0, 0.1), -0.8 + rng.normal(0, 0.1)
    lesion = organ + scene.contrast * rng.uniform(0.6, 1.4)
    clean = np.array([0.0, organ, cyst, lesion], dtype=np.float32)[labels]
    for _ in range(scene.look_alikes):
        _add_look_alike(clean, labels, scene, rng)
    clean = _blurred(clean)
    tissue = scene.texture * (smooth_field(scene.shape, rng, cells=12) + smooth_field(scene.shape, rng, cells=5))
    drift = 1.0 + 0.15 * smooth_field(scene.shape, rng, cells=2)
    grain = rng.standard_normal(scene.shape, dtype=np.float32)
    return (clean + tissue) * drift + scene.noise * grain


def _fill(
    labels: np.ndarray,
    allowed: np.ndarray,
    scene: Scene,
    rng: np.random.Generator,
    *,
    centre: np.ndarray,
    share: tuple[float, float],
    roughness: float,
    label: int,
) -> None:
    """Give ``label`` to the allowed pixels that come first by wobbled distance, as many as the drawn share asks for."""
    proportion = float(np.exp(rng.uniform(*np.log(share))))
    distance = _distance(scene, centre, axes=rng.uniform(0.7, 1.4, len(scene.shape)))
    scale = proportion ** (1 / len(scene.shape))  # about the region's radius: small regions wobble by less
    distance += roughness * scale * 0.5 * smooth_field(scene.shape, rng, cells=max(3, min(12, round(1.5 / scale))))
    candidates = np.flatnonzero(allowed)
    wanted = min(max(1, round(proportion * labels.size)), len(candidates))
    nearest = np.argpartition(distance.ravel()[candidates], wanted - 1)[:wanted]
    labels.ravel()[candidates[nearest]] = label


def _add_look_alike(clean: np.ndarray, labels: np.ndarray, scene: Scene, rng: np.random.Generator) -> None:
    """A spot that is no lesion: bright in the background, dark in the organ."""
    proportion = float(np.exp(rng.uniform(*np.log(scene.lesion))))
    distance = _distance(scene, rng.uniform(0.05, 0.95, len(scene.shape)), axes=rng.uniform(0.7, 1.4, len(scene.shape)))
    edge = np.partition(distance.ravel(), max(1, round(proportion * labels.size)))[round(proportion * labels.size)]
    spot = distance < edge
    clean[spot & (labels == BACKGROUND)] += 1.0 + scene.contrast * rng.uniform(0.2, 0.9)
    clean[spot & (labels == ORGAN)] -= scene.contrast * rng.uniform(0.3, 0.8)


def _distance(scene: Scene, centre: np.ndarray, *, axes: np.ndarray) -> np.ndarray:
    """Elliptic distance from ``centre`` (in shares of the image), in units of the image's mean extent."""
    extents = np.array(scene.shape) * np.array(scene.spacing)
    total = np.zeros((), dtype=np.float32)
    for axis, length in enumerate(scene.shape):
        offset = (np.arange(length, dtype=np.float32) / length - centre[axis]) * extents[axis] / extents.mean()
        view = [1] * len(scene.shape)
        view[axis] = length
        total = total + ((offset * axes[axis]) ** 2).astype(np.float32).reshape(view)
    return np.sqrt(total)


def smooth_field(shape: tuple[int, ...], rng: np.random.Generator, *, cells: int) -> np.ndarray:
    """A smooth random field of mean 0 and standard deviation about 1, with ``cells`` waves along each axis."""
    field = rng.standard_normal((cells + 3,) * len(shape), dtype=np.float32)
    for axis, length in enumerate(shape):  # a small matrix per axis: faster than any filter
        field = np.moveaxis(np.tensordot(_spline_weights(length, cells), field, axes=(1, axis)), 0, axis)
    return field * np.float32(1.45 ** len(shape))  # splines average: their mean square weight is about 1/1.45² an axis


def _blurred(values: np.ndarray) -> np.ndarray:
    """Weights 1/4, 1/2, 1/4 along every axis: an edge pixel holds two tissues."""
    for axis in range(values.ndim):
        padded = np.pad(values, [(1, 1) if other == axis else (0, 0) for other in range(values.ndim)], mode="edge")
        middle = np.moveaxis(padded, axis, 0)
        values = np.moveaxis(0.25 * middle[:-2] + 0.5 * middle[1:-1] + 0.25 * middle[2:], 0, axis)
    return values


@lru_cache(maxsize=32)
def _spline_weights(length: int, cells: int) -> np.ndarray:
    """(length, cells + 3) uniform cubic B-spline weights: rows sum to 1."""
    position = np.linspace(0, cells, length, endpoint=False)
    cell = position.astype(int)
    t = position - cell
    basis = ((1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3)
    weights = np.zeros((length, cells + 3), dtype=np.float32)
    for step, weight in enumerate(basis):
        weights[np.arange(length), cell + step] = weight / 6
    return weights
