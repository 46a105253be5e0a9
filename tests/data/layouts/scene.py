"""Small pictures with a region that a network can find: a bright ellipse on a textured ground."""

import numpy as np


def ellipse(rng, height, width, share=0.15):
    """(H, W) bool, an ellipse that covers about ``share`` of the picture and may touch its border."""
    rows, columns = np.mgrid[:height, :width]
    area = share * height * width
    ratio = rng.uniform(0.6, 1.6)
    semi_row, semi_column = np.sqrt(area * ratio / np.pi), np.sqrt(area / ratio / np.pi)
    row, column = rng.uniform(0.3, 0.7) * height, rng.uniform(0.3, 0.7) * width
    return ((rows - row) / semi_row) ** 2 + ((columns - column) / semi_column) ** 2 <= 1


def photograph(rng, mask, colour=(200, 120, 90), noise=25.0):
    """(H, W, 3) uint8: dark red texture, with ``colour`` inside the mask."""
    ground = np.array([110.0, 60.0, 50.0])
    picture = np.where(mask[..., None], np.array(colour, dtype=float), ground)
    return np.clip(picture + rng.normal(0, noise, picture.shape), 0, 255).astype(np.uint8)
