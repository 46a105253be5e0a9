"""Small batches of every kind of target, and the grid of options of every term."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from sampling import grid

import sizewise as sw
import sizewise.terms
from sizewise.terms.size_limits import SizeLimitsTerm
from sizewise.terms.size_target import SizeTargetTerm
from sizewise.terms.term import RegionTerm

IMAGES = 3
# (channels for softmax, channels for sigmoid, spatial shape); 9 classes take another path than up to 8.
SHAPES = {"1d": (3, 3, (7,)), "2d": (2, 1, (3, 4)), "3d": (9, 2, (2, 3, 2))}
ACTIVATIONS = ("softmax", "sigmoid")
KINDS = (
    "labels",
    "labels with a channel axis",
    "ignored labels",
    "an ignored class",
    "masked labels",
    "ignored and masked labels",
    "one-hot",
    "probabilities",
    "masked probabilities",
)


@dataclass
class Batch:
    """One input, as numpy for the oracle and as tensors for the library."""

    logits: np.ndarray
    target: np.ndarray
    mask: np.ndarray | None
    ignore_index: int | None
    activation: str

    def tensors(self, dtype=torch.float64):
        mask = None if self.mask is None else torch.from_numpy(self.mask)
        return torch.from_numpy(self.logits).to(dtype), torch.from_numpy(self.target), mask

    def arguments(self):
        return self.logits, self.target, self.mask, self.ignore_index, self.activation

    def criterion(self, term):
        return sw.Loss(term, ignore_index=self.ignore_index, activation=self.activation)


@cache
def batch(activation: str, kind: str, shape: str, scale: float = 1.5) -> Batch:
    """Three images: the second lacks the last class, the third has no valid pixel where labels can be missing."""
    random = np.random.default_rng([ACTIVATIONS.index(activation), KINDS.index(kind), *map(ord, shape)])
    softmax = activation == "softmax"
    channels, spatial = SHAPES[shape][0 if softmax else 1], SHAPES[shape][2]
    regions = channels if softmax else 2
    flat = (IMAGES, *spatial) if softmax else (IMAGES, channels, *spatial)
    logits = scale * random.standard_normal((IMAGES, channels, *spatial))
    labels = random.integers(0, regions, flat)
    labels[1][labels[1] == regions - 1] = 0
    mask, ignore_index = None, None
    if "mask" in kind:
        # For sigmoid a mask may hold per channel, or for all of them.
        mask = random.random(flat if "ignored" in kind or softmax else (IMAGES, *spatial)) < 0.7
        mask[2] = False
    if kind == "an ignored class":
        ignore_index = regions - 1
    elif "ignored" in kind:
        ignore_index = 255
        labels[random.random(flat) < 0.3] = 255
        labels[2] = 255
        labels = labels.astype(np.uint8)
    target = labels
    if kind == "labels with a channel axis" and softmax:
        target = labels[:, None]
    elif kind == "labels with a channel axis" and channels == 1:
        target = labels[:, 0]  # one sigmoid channel may also come without its axis
    elif kind == "one-hot":
        target = np.moveaxis(np.eye(regions)[labels], -1, 1) if softmax else labels.astype(np.float64)
    elif "probabilities" in kind:
        target = random.random(logits.shape)
        target[1, -1] = 0
        if softmax:
            target /= target.sum(1, keepdims=True)
    return Batch(logits, np.ascontiguousarray(target), mask, ignore_index, activation)


COMMON = {
    "scope": ("image", "batch"),
    "classes": ("all", "foreground", "list"),
    "class_weight": (None, "positive", "some zero"),
}
REGION = COMMON | {"absent": ("include", "skip"), "class_reduction": ("sum", "mean")}
SMOOTH = {"smooth": (1.0, 1e-3)}
# (target, pixels, temperature) and (bounds, pixels, temperature): not every combination is allowed, or worth it
AIMS = (
    (None, "valid", 10.0),
    (None, "valid", 1.0),
    ("per class", "valid", 10.0),
    ("per image", "valid", 3.0),
    ("per class", "all", 10.0),
    ("per image", "all", 1.0),
)
LIMITS = (
    ("numbers", "valid", 10.0),
    ("per class", "valid", 1.0),
    ("per image", "valid", 3.0),
    ("per class", "all", 10.0),
    ("per image", "all", 1.0),
)
OWN_GRIDS = {  # of terms that have options which their kind has not, or lack some
    "BalancedCrossEntropy": {name: values for name, values in REGION.items() if name != "absent"},
    "Focal": COMMON | {"gamma": (0, 0.5, 2.0)},
    "Tversky": REGION | SMOOTH | {"weights": ((0.5, 0.5), (0.3, 0.7))},
    "GeneralizedDice": COMMON | SMOOTH | {"absent": ("include", "skip")},
    "DiceBias": REGION | SMOOTH | {"temperature": (10.0, 1.0)},
    "SizeBarrier": REGION | {"limits": LIMITS, "t": (5.0, 2.0)},
}


def usual_grid(term: type) -> dict:
    """The options of a term's kind: a new term needs no line here."""
    if issubclass(term, SizeTargetTerm):
        return REGION | {"aim": AIMS}
    if issubclass(term, SizeLimitsTerm):
        return REGION | {"limits": LIMITS}
    grid = REGION if issubclass(term, RegionTerm) else COMMON
    return grid | SMOOTH if "smooth" in term.option_names() else grid


GRIDS = {name: OWN_GRIDS.get(name) or usual_grid(getattr(sw, name)) for name in sizewise.terms.__all__}


def all_cases(term: str) -> list[tuple[str, dict]]:
    """Every (shape, options) of a term, the options still as words."""
    return [(shape, options) for shape in SHAPES for options in grid(GRIDS[term])]


def resolve(options: dict, one: Batch) -> dict:
    """The constructor's keyword arguments for words as "per image"."""
    random = np.random.default_rng(5)
    softmax = one.activation == "softmax"
    channels = one.logits.shape[1]
    regions = channels if softmax else 2
    result = dict(options)
    if options["classes"] == "list":
        result["classes"] = [channels - 1, 0] if channels > 2 else [channels - 1]
    if options["class_weight"] is not None:
        per_channel = not softmax and options["class_weight"] == "positive"
        weight = random.uniform(0.5, 2, (channels, 2) if per_channel else regions)
        if options["class_weight"] == "some zero":
            weight[0] = 0
        result["class_weight"] = weight
    if "weights" in options:
        result["alpha"], result["beta"] = result.pop("weights")
    if "aim" in options:
        aim, result["pixels"], result["temperature"] = result.pop("aim")
        if aim is not None:
            prior = random.random((IMAGES, channels) if aim == "per image" else channels)
            result["target"] = prior / prior.sum(-1, keepdims=True) if softmax else prior
    if "limits" in options:
        limits, result["pixels"], result["temperature"] = result.pop("limits")
        shape = {"numbers": (), "per class": (channels,), "per image": (IMAGES, channels)}[limits]
        result["lower"] = random.uniform(0.2, 0.3, shape)
        result["upper"] = random.uniform(0.3, 0.4, channels if shape else ())
    return result


def build(term: str, options: dict, one: Batch):
    """The criterion of a term with resolved options, reading its input as the batch needs it."""
    return one.criterion(getattr(sw, term)(**options))


def seed_of(*words: str) -> int:
    """A seed for a test's name; Python's own hash of strings differs from run to run."""
    return sum(ord(letter) * (position + 1) for position, letter in enumerate("".join(words)))
