"""The pixels as the oracle sees them: plain lists, float64, one pixel at a time. Imports nothing of sizewise.

A batch is its images' pixels laid end to end, what was given per image is carried by every pixel of that image, and a
pixel that the mask drops is simply not in the list.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Area:
    """The pixels that a formula runs over: an image, or a whole batch. Pixels that the mask drops are not in it."""

    z: np.ndarray  # (M, K) logits
    y: np.ndarray  # (M, K) target probabilities, zeros where there is no label
    valid: np.ndarray  # (M,) whether the pixel has a label
    image: np.ndarray  # (M,) which image it comes from

    def log_p(self, temperature=1.0):
        z = temperature * self.z
        z = z - z.max(1, keepdims=True)
        return z - np.log(np.exp(z).sum(1, keepdims=True))

    @property
    def T(self):
        return self.y[self.valid].sum(0)

    @property
    def I(self):  # noqa: E743
        return np.minimum(np.exp(self.log_p()), self.y)[self.valid].sum(0)

    def P(self, temperature=1.0):
        return np.exp(self.log_p(temperature))[self.valid].sum(0)

    def focal(self, gamma):
        log_p = self.log_p()
        one_minus_p = -np.expm1(log_p)
        return (-self.y * one_minus_p**gamma * log_p)[self.valid].sum(0)

    def inside(self, pixels):
        return self.valid if pixels == "valid" else np.ones_like(self.valid)

    def proportions(self, temperature, pixels):
        return self.over(temperature, pixels).mean(0)

    def over(self, temperature, pixels):
        """Probabilities of the pixels in question, (M, K)."""
        return np.exp(self.log_p(temperature))[self.inside(pixels)]

    def shares(self, given, pixels):
        """The mean over pixels of what each one's image was given."""
        return given[self.image[self.inside(pixels)]].mean(0)


def problems(logits, target, mask=None, ignore_index=None, activation="softmax"):
    """For each problem (softmax: one; sigmoid: one per channel, with logits (0, z)) the Area of every image."""
    images, channels = logits.shape[:2]
    regions = channels if activation == "softmax" else 2
    z = np.asarray(logits, np.float64).reshape(images, channels, -1)
    pixels = z.shape[2]
    soft = np.issubdtype(target.dtype, np.floating)
    target = target.reshape(images, -1, pixels)
    kept = np.ones((images, 1, pixels), bool) if mask is None else mask.reshape(images, -1, pixels)
    result = []
    for channel in range(1 if activation == "softmax" else channels):
        areas = []
        for n in range(images):
            rows = []
            for i in range(pixels):
                if not kept[n, min(channel, kept.shape[1] - 1), i]:
                    continue
                scores = z[n, :, i] if activation == "softmax" else np.array([0.0, z[n, channel, i]])
                valid = soft or ignore_index is None or int(target[n, channel, i]) != ignore_index
                if not valid:
                    wanted = np.zeros(regions)
                elif not soft:
                    wanted = np.eye(regions)[int(target[n, channel, i])]
                elif activation == "softmax":
                    wanted = target[n, :, i].astype(np.float64)
                else:
                    wanted = np.array([1 - float(target[n, channel, i]), float(target[n, channel, i])])
                rows.append((scores, wanted, valid))
            areas.append(
                Area(
                    np.array([row[0] for row in rows]).reshape(-1, regions),
                    np.array([row[1] for row in rows]).reshape(-1, regions),
                    np.array([row[2] for row in rows], bool),
                    np.full(len(rows), n),
                )
            )
        result.append(areas)
    return result


def in_scope(areas, scope):
    """Each image on its own, or all their pixels as one."""
    if scope == "image" or not areas:
        return areas
    fields = ("z", "y", "valid", "image")
    return [Area(*(np.concatenate([getattr(area, field) for area in areas]) for field in fields))]
