"""Augmentation in batches on the device. What is random is drawn beforehand; here it is only applied.

Flips, rotation and scaling are one affine map per sample; brightness and contrast one factor and one offset per
channel. One resampling does them all, in 2D and 3D.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from sizewise.train.preparation import UNLABELLED


@dataclass(frozen=True)
class Augmentation:
    """Ranges to draw from.

    Attributes:
        flip: the spatial axes that may be mirrored, counted from the last.
        rotate: degrees, to either side; in 3D about each axis.
        scale: 1/scale to scale, drawn on a log scale.
        in_plane: in 3D, turn and scale within the slices alone, whose normal is the crop's shortest axis.
        colour: brightness and contrast, as a share of the intensities' spread.
    """

    flip: tuple[int, ...] = ()
    rotate: float = 0.0
    scale: float = 1.0
    colour: float = 0.0
    in_plane: bool = False

    @property
    def moves(self) -> bool:
        """Whether pixels change place."""
        return bool(self.flip) or self.rotate > 0 or self.scale != 1


AUGMENTATIONS = {
    "none": Augmentation(),
    "flip": Augmentation(flip=(1, 2)),
    # pictures with an upright: what stays plausible for a street, a room, a plant
    "picture": Augmentation(flip=(1,), rotate=15, scale=1.25, colour=0.2),
    # pictures without one, as of polyps, cells, skin, the retina: every way up is as likely as any other
    "any-way-up": Augmentation(flip=(1, 2), rotate=90, scale=1.4, colour=0.4),
    "street": Augmentation(flip=(1,), scale=1.5, colour=0.3),
    # no flips: left and right, front and back are classes of their own in many volumes
    "volume": Augmentation(rotate=15, scale=1.25, colour=0.2),
    # volumes of few slices: a tilt moves half of a flat crop out of it, and mixes slices that are far apart
    "slices": Augmentation(rotate=30, scale=1.25, colour=0.2, in_plane=True),
}


def draw_motions(
    generator: np.random.Generator, augmentation: Augmentation, samples: int, size: np.ndarray, spacing: np.ndarray
) -> np.ndarray:
    """(samples, D, D + 1) maps for ``affine_grid``, axes in its order: the last spatial axis first.

    Rotation and scale act in millimetres; the map is in units of half the crop along each axis.
    """
    dims = len(size)
    angles = np.deg2rad(generator.uniform(-augmentation.rotate, augmentation.rotate, (samples, 3)))
    scales = np.exp(generator.uniform(-1, 1, samples) * np.log(augmentation.scale))
    flips = np.where(generator.random((samples, dims)) < 0.5, -1.0, 1.0)
    allowed = np.array([axis + 1 in augmentation.flip for axis in range(dims)])
    flips = np.where(allowed, flips, 1.0)
    factors = np.repeat(scales[:, None], dims, 1)
    if augmentation.in_plane and dims == 3:
        normal = dims - 1 - int(np.argmin(size))  # in the order of affine_grid
        angles[:, np.arange(3) != normal] = 0
        factors[:, normal] = 1
    turn = rotation(angles[:, 0]) if dims == 2 else rotation_3d(angles)
    half = (size * spacing)[::-1] / 2
    linear = turn / factors[:, None, :] * half[None, None, :] / half[None, :, None]
    motions = np.zeros((samples, dims, dims + 1))
    motions[:, :, :dims] = linear * flips[:, None, :]
    return motions


def draw_colours(generator: np.random.Generator, augmentation: Augmentation, samples: int, channels: int) -> np.ndarray:
    """(samples, 2, C): factor and offset of the scaled intensities, mostly shared by the channels."""
    spread = augmentation.colour
    shared = generator.uniform(-spread, spread, (samples, 2, 1))
    own = generator.uniform(-spread, spread, (samples, 2, channels)) / 3
    return shared + own + np.array([1.0, 0.0])[:, None]


def rotation(angle: np.ndarray) -> np.ndarray:
    """(n, 2, 2)."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)


def rotation_3d(angles: np.ndarray) -> np.ndarray:
    """(n, 3, 3) about each axis in turn."""
    result = np.broadcast_to(np.eye(3), (len(angles), 3, 3))
    for axis, (a, b) in enumerate(((1, 2), (0, 2), (0, 1))):
        turn = np.broadcast_to(np.eye(3), (len(angles), 3, 3)).copy()
        small = rotation(angles[:, axis])
        turn[:, a, a], turn[:, a, b], turn[:, b, a], turn[:, b, b] = (
            small[:, 0, 0],
            small[:, 0, 1],
            small[:, 1, 0],
            small[:, 1, 1],
        )
        result = result @ turn
    return result


def augment(
    images: Tensor, labels: Tensor, cells: Tensor | None, motions: Tensor, colours: Tensor
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Apply the draws to scaled images (N, C, *S), labels (N, 1 or C, *S) uint8 and the cells' maps (N, K', *S).

    What comes from outside the crop is 0 in the image and UNLABELLED in the labels: it counts for nothing. Cells move
    in the labels' own pass; outside there is none, 0.
    """
    shape = [len(images), colours.shape[-1], *[1] * (images.dim() - 2)]
    images = images * colours[:, 0].view(shape) + colours[:, 1].view(shape)
    grid = F.affine_grid(motions, list(images.shape), align_corners=False)
    moved = F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    # shifted so that the 0 of outside means UNLABELLED: 255 − label is 0 only there
    inverted = (UNLABELLED - labels.to(torch.int16)).to(images.dtype)
    if cells is not None:  # whole numbers up to 2^24 are exact
        inverted, grid = torch.cat((inverted.float(), cells.float()), 1), grid.float()
    nearest = F.grid_sample(inverted, grid, mode="nearest", padding_mode="zeros", align_corners=False)
    if cells is not None:
        nearest, cells = nearest[:, : labels.shape[1]], nearest[:, labels.shape[1] :].to(torch.int32)
    return moved, (UNLABELLED - nearest).to(labels.dtype), cells
