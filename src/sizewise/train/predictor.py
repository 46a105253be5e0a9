"""From an image to its logits: one trained network, the same with flips, or the mean of several.

Means are taken of probabilities, and handed on as the logits that have them: whatever follows (enlarging, temperature,
decision) is the same for one network and for many.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Protocol

import torch
from lightning_fabric import Fabric
from torch import Tensor
from torch.nn import functional as F

from sizewise.data.dataset import Image
from sizewise.train.inference import OVERLAP, image_logits, network_input
from sizewise.train.preparation import Preparation


class Predictor(Protocol):
    """What label maps are made from."""

    def check(self, image: Image, case: str) -> None:
        """Raise BadInput where the image is not of the kind that was trained on."""
        ...

    def logits(self, image: Image) -> Tensor:
        """(1, K, *s) float32, at the size that the network saw."""
        ...


@dataclass(frozen=True)
class Network:
    """One trained network.

    Attributes:
        model: with its weights, on the device.
        preparation: how images are resized and scaled.
        patch: of the sliding window; () where the network sees whole images.
        multiple: what the network's input size must be divisible by.
        sigmoid: whether each channel is a problem of its own.
        fabric: device and precision.
        flips: the spatial axes, counted from the last, that are mirrored in all combinations; the mean counts.
        overlap: of neighbouring windows, as a share of the patch.
    """

    model: Callable[[Tensor], Tensor]
    preparation: Preparation
    patch: tuple[int, ...]
    multiple: int
    sigmoid: bool
    fabric: Fabric
    flips: tuple[int, ...] = ()
    overlap: float = OVERLAP

    @property
    def usual(self) -> bool:
        """Whether it predicts as for the run's own test cases, whose temperature the run keeps."""
        return not self.flips and self.overlap == OVERLAP

    def check(self, image: Image, case: str) -> None:
        self.preparation.check(image, case)

    @torch.inference_mode()
    def logits(self, image: Image) -> Tensor:
        pixels = network_input(image, self.preparation, device=self.fabric.device)
        with self.fabric.autocast():
            if not self.flips:
                return self._forward(pixels)
            return mean_logits((self._mirrored(pixels, axes) for axes in subsets(self.flips)), sigmoid=self.sigmoid)

    def _mirrored(self, pixels: Tensor, axes: tuple[int, ...]) -> Tensor:
        places = [-axis for axis in axes]
        return self._forward(pixels.flip(places)).flip(places)

    def _forward(self, pixels: Tensor) -> Tensor:
        return image_logits(self.model, pixels, patch=self.patch, multiple=self.multiple, overlap=self.overlap)


@dataclass(frozen=True)
class Ensemble:
    """The mean of the probabilities of several networks, each with its own preparation.

    Attributes:
        members: whose logits have one size; see ``ensemble.check_members``.
        sigmoid: whether each channel is a problem of its own.
    """

    members: tuple[Network, ...]
    sigmoid: bool

    def check(self, image: Image, case: str) -> None:
        for member in self.members:
            member.check(image, case)

    @torch.inference_mode()
    def logits(self, image: Image) -> Tensor:
        return mean_logits((member.logits(image) for member in self.members), sigmoid=self.sigmoid)


def mean_logits(several: Iterable[Tensor], *, sigmoid: bool) -> Tensor:
    """The logits whose probabilities are the mean of those of ``several``, taken in one after another.

    >>> z = mean_logits(iter([torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 40.0]])]), sigmoid=False)
    >>> torch.softmax(z, 1)
    tensor([[0.2500, 0.7500]])
    """
    inside: Tensor | None = None
    outside: Tensor | None = None
    for logits in several:
        taken = torch.sigmoid(logits.float()) if sigmoid else torch.softmax(logits.float(), 1)
        inside = taken if inside is None else inside + taken
        if sigmoid:  # 1 − p would lose what is far out
            rest = torch.sigmoid(-logits.float())
            outside = rest if outside is None else outside + rest
    assert inside is not None
    tiny = torch.finfo(torch.float32).tiny
    if outside is not None:
        return torch.log(inside.clamp(min=tiny)) - torch.log(outside.clamp(min=tiny))
    return torch.log(F.normalize(inside, p=1.0, dim=1).clamp(min=tiny))


def subsets(axes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All combinations, the empty one first.

    >>> subsets((1, 2))
    [(), (1,), (2,), (1, 2)]
    """
    return list(chain.from_iterable(combinations(axes, n) for n in range(len(axes) + 1)))
