"""Probabilities and the label maps that they are of, as programs save them."""

import numpy as np


def drawn(shape, *, classes=3, seed=0, sharpness=2.0):
    """Smooth probabilities (K, *S) of uneven shape, and labels drawn from them."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(classes, *shape))
    for axis in range(1, scores.ndim):
        scores = scores + np.roll(scores, 1, axis) + np.roll(scores, -1, axis)
    scores *= sharpness / scores.std()
    scores[0] += 1.0
    p = np.exp(scores - scores.max(0))
    p /= p.sum(0)
    labels = (random.random(shape) > p.cumsum(0)).sum(0).clip(0, classes - 1)
    return p.astype(np.float32), labels.astype(np.uint8)


def sharpened(p, temperature):
    """As a model would give them that is too sure of itself."""
    power = p ** (1 / temperature)
    return (power / power.sum(0)).astype(np.float32)
