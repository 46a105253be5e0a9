"""One pass of a decision in plain torch: the specification, and the path for the CPU.

It streams over chunks of pixels, so that nothing of the size of the probabilities is ever stored: a pass gives a few
sums for each row and class, and the last one writes the labels. A row is an image, or one sigmoid channel of an image.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from sizewise.decisions.rule import Rule
from sizewise.stats.chunks import DEVICE_CHUNK, Place, chunks
from sizewise.stats.reference import compute_dtype
from sizewise.stats.scratch import Scratch
from sizewise.stats.upsampling import Enlargement
from sizewise.stats.workers import map_chunks

Result = TypeVar("Result")
# Elements of a chunk, timed from 2^16 to 2^21 on two cores.
CHUNK = 1 << 19


class Sums(NamedTuple):
    """What a pass adds up for each row and class.

    Attributes:
        chosen: V, the number of pixels of each label.
        inside: I, the sum of p over the pixels of each label.
        expected: G, the sum of p over all valid pixels; found with argmax alone, since it is the same for every rule.
        highest: the largest p of any valid pixel; 0 where there is none. Likewise.
    """

    chosen: Tensor
    inside: Tensor
    expected: Tensor
    highest: Tensor

    def joined(self, other: "Sums") -> "Sums":
        """Those of both."""
        return Sums(
            self.chosen + other.chosen,
            self.inside + other.inside,
            self.expected + other.expected,
            torch.maximum(self.highest, other.highest),
        )

    def pooled(self, images: int) -> "Sums":
        """Over the images, of which each has the same number of rows."""
        chosen, inside, expected, highest = (values.view(images, -1, values.shape[-1]) for values in self)
        return Sums(chosen.sum(0), inside.sum(0), expected.sum(0), highest.amax(0))


class Pooled:
    """Several inputs as one: sums over all of their images.

    Args:
        inputs: gives them anew for every pass, so that only one need be in memory.
        rows: of each image, 1 or the number of sigmoid channels.
        classes: of each row.
    """

    def __init__(self, inputs: Callable[[], Iterable["Given"]], rows: int, classes: int) -> None:
        self.inputs, self.rows, self.classes = inputs, rows, classes

    def take(self, rule: Rule) -> Sums:
        """The sums of one rule over all images."""
        total: Sums | None = None
        for given in self.inputs():
            found = given.take(rule.for_images(given.images)).pooled(given.images)
            total = found if total is None else total.joined(found)
        assert total is not None, "there is at least one input"
        return total


class Given:
    """The input of a decision, and how it is read.

    Args:
        values: logits or probabilities (N, C, *S).
        mask: bool, (N, 1 or C, *S), or None.
        sigmoid: whether each channel is a problem of its own, with the classes background and foreground.
        probabilities: whether ``values`` are probabilities.
        temperature: what logits are divided by.
        background: the class whose score is 0 and that wins ties, or None.
        upsample: how logits are interpolated, or None.
        size: the size to which they are.
    """

    def __init__(
        self,
        values: Tensor,
        mask: Tensor | None,
        *,
        sigmoid: bool,
        probabilities: bool,
        temperature: float,
        background: int | None,
        upsample: str | None = None,
        size: tuple[int, ...] = (),
    ) -> None:
        self.values, self.mask = values, mask
        self.sigmoid, self.probabilities, self.temperature = sigmoid, probabilities, temperature
        self.background = background
        self.images, self.channels, *small = values.shape
        self.upsample = upsample
        self.spatial = size if upsample is not None else tuple(small)
        self.enlargement = None if upsample is None else Enlargement(small, size, upsample)
        self.groups, self.classes = (self.channels, 2) if sigmoid else (1, self.channels)
        self.rows = self.images * self.groups

    def take(self, rule: Rule) -> Sums:
        """The sums of the labels that ``rule`` gives, which is that of each row."""
        shape, device = (self.rows, self.classes), self.values.device
        totals = Sums(
            torch.zeros(shape, dtype=torch.int64, device=device),
            *(torch.zeros(shape, dtype=torch.float64, device=device) for _ in range(3)),
        )
        places = self._places()
        for place, found in zip(places, self._map(lambda one: self._sums(one, rule), places), strict=True):
            rows = self._rows(place)
            for total, added in zip(totals[:3], found[:3], strict=True):
                total[rows] += added
            totals.highest[rows] = torch.maximum(totals.highest[rows], found.highest)
        return totals

    def label(self, rule: Rule) -> Tensor:
        """The labels that ``rule`` gives: (N, *S) int64, or for sigmoid (N, C, *S) bool."""
        shape = (self.images, self.channels, *self.spatial) if self.sigmoid else (self.images, *self.spatial)
        out = torch.empty(shape, dtype=torch.bool if self.sigmoid else torch.int64, device=self.values.device)

        def write(place: Place) -> None:
            p, valid, logs = self._probabilities(place)
            labels = choose(p, logs, rule.at(self._rows(place)), self.background)
            if valid is not None:
                labels = labels.where(valid, self.background or 0)
            where = (place[0], slice(None), *place[1]) if self.sigmoid else (place[0], *place[1])
            out[where] = labels.view(out[where].shape).to(out.dtype)

        self._map(write, self._places())
        return out

    def _sums(self, place: Place, rule: Rule) -> Sums:
        p, valid, logs = self._probabilities(place)
        labels = choose(p, logs, rule.at(self._rows(place)), self.background)
        picked = p.gather(1, labels.unsqueeze(1)).squeeze(1)
        count = len(p) * self.classes
        bins = labels if len(p) == 1 else labels + self.classes * torch.arange(len(p), device=p.device).unsqueeze(1)
        if valid is not None:
            bins = bins.where(valid, count)
        flat = bins.flatten()
        chosen = torch.bincount(flat, minlength=count + 1)[:count].view(-1, self.classes)
        inside = torch.bincount(flat, weights=picked.double().flatten(), minlength=count + 1)[:count]
        expected = highest = torch.zeros((), dtype=torch.float64, device=p.device)
        if rule.is_argmax:
            p = p if valid is None else p.where(valid.unsqueeze(1), 0)
            expected, highest = p.sum(-1, dtype=torch.float64), p.amax(-1).double()
        return Sums(chosen, inside.view(-1, self.classes), expected, highest)

    def _probabilities(self, place: Place) -> tuple[Tensor, Tensor | None, Tensor]:
        """p of one chunk, (B, K, M); which pixels are valid, (B, M); and log p up to a constant of each pixel."""
        where = (place[0], slice(None), *place[1])
        rows = self._rows(place)
        values = self._values(place)
        valid = None
        if self.mask is not None:
            shape = (rows.stop - rows.start, values.shape[-1])
            valid = self.mask[where].flatten(2).expand(-1, self.groups, -1).reshape(shape)
        if self.sigmoid:
            values = values.reshape(-1, 1, values.shape[-1])
        if valid is not None:  # NaN may stand where nobody looks
            values = values.where(valid.unsqueeze(1), 0)
        if self.probabilities and self.sigmoid:
            values = torch.cat((1 - values, values), 1)
        if self.probabilities:
            logs = values.log()
            if self.temperature == 1:
                return values, valid, logs
        else:
            logs = torch.cat((torch.zeros_like(values), values), 1) if self.sigmoid else values
        logs = logs - logs.amax(1, keepdim=True)
        if self.temperature != 1:
            logs /= self.temperature
        p = logs.exp()
        return p.mul_(p.sum(1, keepdim=True).reciprocal_()), valid, logs

    def _values(self, place: Place) -> Tensor:
        """Logits or probabilities of one chunk, (B, C, M)."""
        dtype = compute_dtype(self.values.dtype)
        if self.enlargement is None:
            return self.values[(place[0], slice(None), *place[1])].flatten(2).to(dtype)
        cells = self.enlargement.needed(place[1])
        small = self.values[(place[0], slice(None), *cells)].to(dtype)
        return self.enlargement.enlarged(small, place[1], Scratch(dtype, small.device)).flatten(2)

    def _places(self) -> list[Place]:
        elements = CHUNK if self.values.device.type == "cpu" else DEVICE_CHUNK
        return list(chunks(self.images, self.channels, self.spatial, elements))

    def _map(self, work: Callable[[Place], Result], places: list[Place]) -> list[Result]:
        if self.values.device.type == "cpu":
            return map_chunks(lambda place, _: work(place), places, lambda: None)
        return [work(place) for place in places]

    def _rows(self, place: Place) -> slice:
        return slice(place[0].start * self.groups, place[0].stop * self.groups)


def choose(p: Tensor, logs: Tensor, rule: Rule, background: int | None) -> Tensor:
    """The labels (B, M) with the largest score; equal scores: the background, then the lowest id."""
    classes = p.shape[1]
    order = [one for one in (background,) if one is not None] + [one for one in range(classes) if one != background]
    if rule.shift is not None:
        shift = rule.shift.to(p.dtype).unsqueeze(-1)
        return largest([logs[:, one] + shift[:, one] for one in order], order)
    if rule.is_argmax:
        return largest([p[:, one] for one in order], order)
    gain, threshold = (one.to(p.dtype).unsqueeze(-1) for one in (rule.gain, rule.threshold))
    scored = torch.sub(p, threshold).mul_(gain)
    scores = [scored[:, one] for one in order]
    if rule.bound is not None and bool(rule.bound.any()):
        likeliest = largest([p[:, one] for one in order], order)
        for score, one in zip(scores, order, strict=True):
            score.masked_fill_(rule.bound[:, one : one + 1] & (likeliest != one), -torch.inf)
    return largest(scores, order)


def largest(scores: list[Tensor], order: list[int]) -> Tensor:
    """Which of several (B, M) is the largest at each pixel; of equals, the first in ``order``.

    Comparing one after the other is several times as fast as torch's ``argmax`` over an axis that is not the last.
    """
    best, labels = scores[0], torch.full_like(scores[0], order[0], dtype=torch.int64)
    for score, one in zip(scores[1:], order[1:], strict=True):
        labels.masked_fill_(score > best, one)
        best = torch.maximum(best, score)
    return labels
