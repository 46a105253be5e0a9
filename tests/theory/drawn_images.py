"""Images that hypothesis draws, and the pixels that their sums were taken over. Imports nothing of sizewise.theory."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sizewise as sw

IGNORED = 255
proposition = settings(derandomize=True, max_examples=60, deadline=None, database=None)


@dataclass
class Images:
    """(N, K, M) logits with (N, M) labels, or (N, C, M) with (N, C, M) for sigmoid."""

    logits: np.ndarray
    labels: np.ndarray
    activation: str

    @cached_property
    def stats(self) -> sw.RegionStats:
        return sw.region_stats(*self.tensors, ignore_index=IGNORED, activation=self.activation, temperature=(1, 10))

    @property
    def tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.tensor(self.logits), torch.tensor(self.labels)

    @property
    def counted(self) -> torch.Tensor:
        """Which images, or channels of images, have a valid pixel."""
        return torch.tensor((self.labels != IGNORED).any(-1))

    def problems(self) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
        """The place in a field, probabilities (M, regions) and labels (M,) of the valid pixels, where there are any."""
        for place in np.ndindex(self.labels.shape[:-1]):
            logits, labels = self.logits[place], self.labels[place]
            logits = np.stack((np.zeros_like(logits), logits)) if self.activation == "sigmoid" else logits
            valid = labels != IGNORED
            exponentials = np.exp(logits - logits.max(0))
            if valid.any():
                yield place, (exponentials / exponentials.sum(0)).T[valid], labels[valid]


@st.composite
def images(draw, activation=None, ignore=True, largest_logit=8.0):
    activation = draw(st.sampled_from(("softmax", "sigmoid"))) if activation is None else activation
    shape = (draw(st.integers(1, 2)), draw(st.integers(2, 4)), draw(st.integers(1, 9)))
    logits = draw(arrays(np.float64, shape, elements=st.floats(-largest_logit, largest_logit)))
    regions, label_shape = (2, shape) if activation == "sigmoid" else (shape[1], (shape[0], shape[2]))
    allowed = st.sampled_from((*range(regions), *([IGNORED] if ignore else [])))
    return Images(logits, draw(arrays(np.int64, label_shape, elements=allowed)), activation)


@st.composite
def simplex(draw, classes, smallest=0.0):
    """A float64 distribution over ``classes``; each share is at least about ``smallest``."""
    weights = draw(st.lists(st.floats(0, 1), min_size=classes, max_size=classes).filter(lambda one: sum(one) > 1e-3))
    shares = torch.tensor(weights, dtype=torch.float64)
    shares = shares / shares.sum() + smallest
    return shares / shares.sum()


@st.composite
def simplex_pair(draw, smallest=0.0):
    """Predicted and true proportions of the same classes."""
    classes = draw(st.integers(2, 6))
    return draw(simplex(classes, smallest)), draw(simplex(classes, smallest))


def close(got, want, tolerance=1e-10):
    torch.testing.assert_close(got, torch.as_tensor(want, dtype=got.dtype), rtol=tolerance, atol=tolerance)


def mean_over_images(values, counted):
    return (values.where(counted, 0).sum(0) / counted.sum(0).clamp(min=1)).mean()


def four_pixels():
    """p of class 1 is 1/4, 1/4, 1/4, 3/4; the last pixel is of class 1: T = (3, 1), I = (9/4, 3/4), P = (5/2, 3/2)."""
    logit = log(3)
    logits = torch.tensor([[[logit, logit, logit, 0], [0, 0, 0, logit]]], dtype=torch.float64)
    return sw.region_stats(logits, torch.tensor([[0, 0, 0, 1]]))
