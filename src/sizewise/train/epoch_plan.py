"""What an epoch will see, drawn before it starts: a pure function of seed and epoch.

Nothing random is left to the loop. A run that is resumed at epoch 7 therefore sees what the uninterrupted run saw, and
two losses with the same seed see the same crops, flips and colours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sizewise.train.augment import Augmentation, draw_colours, draw_motions
from sizewise.train.store import Store


@dataclass(frozen=True)
class EpochPlan:
    """The draws of one epoch, for (steps, batch) samples.

    Attributes:
        cases: index into the store, (steps, batch).
        origins: first pixel of the crop, may lie outside the image, (steps, batch, D).
        motions: from the augmented to the cropped coordinates, (steps, batch, D, D + 1), in units of half the crop.
        colours: factor and offset of intensities per channel, (steps, batch, 2, C).
    """

    cases: np.ndarray
    origins: np.ndarray
    motions: np.ndarray
    colours: np.ndarray

    def share(self, rank: int, ranks: int) -> "EpochPlan":
        """What one of several processes takes of each batch."""
        parts = (self.cases, self.origins, self.motions, self.colours)
        return self if ranks == 1 else EpochPlan(*(np.ascontiguousarray(part[:, rank::ranks]) for part in parts))


def draw_plan(
    store: Store,
    *,
    seed: int,
    epoch: int,
    steps: int,
    batch_size: int,
    patch: Sequence[int],
    oversample: float,
    augmentation: Augmentation,
    spacing: Sequence[float],
) -> EpochPlan:
    """Draw one epoch. ``steps`` = 0 is one pass over the cases; what is left of the last batch waits for the next."""
    generator = np.random.Generator(np.random.Philox(key=[seed, epoch]))
    steps = steps or max(1, len(store) // batch_size)
    samples = steps * batch_size
    rounds = -(-samples // len(store))
    order = np.concatenate([generator.permutation(len(store)) for _ in range(rounds)])[:samples]
    size = np.asarray(patch, np.int64)
    # the last samples of each batch are centred on the foreground: so every batch has some, whatever its size
    forced = np.arange(samples) % batch_size >= round(batch_size * (1 - oversample))
    origins = np.stack(
        [_origin(generator, store, case, size, centre) for case, centre in zip(order, forced, strict=True)]
    )
    grid = (steps, batch_size)
    dims = len(size)
    motions = draw_motions(generator, augmentation, samples, size, np.asarray(spacing, float))
    colours = draw_colours(generator, augmentation, samples, store.channels)
    return EpochPlan(
        order.reshape(grid),
        origins.reshape(*grid, dims),
        motions.astype(np.float32).reshape(*grid, dims, dims + 1),
        colours.astype(np.float32).reshape(*grid, 2, store.channels),
    )


def _origin(generator: np.random.Generator, store: Store, case: int, patch: np.ndarray, foreground: bool) -> np.ndarray:
    """Where the crop begins: anywhere inside the image, centred where the image is smaller than the crop."""
    slack = store.shapes[case] - patch
    anywhere = generator.random(len(patch))  # always drawn, so that the stream does not depend on the labels
    pick = generator.random(2)
    points = store.points[case]
    if foreground and points:
        inside = points[int(pick[0] * len(points))]
        wanted = inside[int(pick[1] * len(inside))] - patch // 2
        origin = np.clip(wanted, 0, np.maximum(slack, 0))
    else:
        origin = np.floor(anywhere * (np.maximum(slack, 0) + 1)).astype(np.int64)
    return np.where(slack < 0, slack // 2, origin)
