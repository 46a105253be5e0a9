"""Both losses of an image taken apart, to look at while training."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sizewise.stats.region_stats import RegionStats
from sizewise.theory.parts import Parts, cross_entropy_parts, log_dice_parts
from sizewise.theory.proportions import proportions, size_pull
from sizewise.theory.table import LEGEND, aligned, number, sum_line


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Cross-entropy and log-Dice of each image and region, in parts, and where their biases pull the sizes.

    ``print`` shows the mean over the images that have a valid pixel; :meth:`table` also a single one.

    Attributes:
        predicted: p̂, the predicted proportions, (N, K), or (N, C, 2) for sigmoid channels.
        true: ŷ, the true proportions.
        pixels: |Ω|, the number of valid pixels, (N,) or (N, C).
        cross_entropy: its parts; they sum over the regions to the loss of an image.
        log_dice: its parts; their mean over the regions (sigmoid: the foreground) is the loss of an image.

    >>> import torch, sizewise as sw
    >>> stats = sw.region_stats(torch.zeros(1, 2, 1, 4), torch.tensor([[[0, 0, 0, 1]]]))
    >>> print(sw.theory.decompose(stats))
    mean of 1 image           size                cross-entropy               log-Dice
    region           true  predicted  error  matching    bias   pull  matching   bias     pull
    0                0.75        0.5  -0.25         0   0.304  +0.25      0.56  0.405  +0.0417
    1                0.25        0.5  +0.25         0  -0.173  -0.25     0.405      0  -0.0417
    cross-entropy 0.693 = matching 0 + bias 0.131 + constant 0.562 (sum over regions)
    log-Dice 0.549 = matching 0.483 + bias 0.203 + constant -0.136 (mean over regions)
    pull: what the bias alone does to the size of a region, + larger, - smaller
    """

    predicted: Tensor
    true: Tensor
    pixels: Tensor
    cross_entropy: Parts
    log_dice: Parts

    @property
    def sigmoid(self) -> bool:
        """Whether there are sigmoid channels, each with a background and a foreground."""
        return self.true.dim() == 3

    @property
    def size_error(self) -> Tensor:
        """p̂ − ŷ: positive where a region is predicted too large."""
        return self.predicted - self.true

    @property
    def cross_entropy_pull(self) -> Tensor:
        """The :func:`size_pull` of cross-entropy's bias, ŷ − p̂: straight to the true sizes."""
        return -self.size_error  # exact also where p̂ = 0 and the slope has no value

    @property
    def log_dice_pull(self) -> Tensor:
        """The :func:`size_pull` of log-Dice's bias, averaged over the regions; sigmoid: that of the foreground alone.

        At the true sizes of K present classes and without smoothing it is (ŷ_k − 1/K) / 2: what is larger than average
        grows, what is smaller shrinks. That of the foreground alone always shrinks it.
        """
        slope = self.log_dice.slope
        if self.sigmoid:
            foreground = slope[..., 1:]
            return size_pull(self.predicted, torch.cat((torch.zeros_like(foreground), foreground), -1))
        return size_pull(self.predicted, slope / slope.shape[-1])

    def table(self, image: int | None = None, *, names: Sequence[str] | None = None) -> str:
        """The numbers as text, for one image, or the mean over the images that have a valid pixel.

        Args:
            image: which one; ``None`` for the mean.
            names: of the classes, or of the sigmoid channels; numbers by default.
        """
        images, count = self.true.shape[:2]
        if image is not None and not -images <= image < images:
            raise ValueError(f"Decomposition: image must be an index into {images} images, got {image}.")
        if names is not None and len(names) != count:
            raise ValueError(f"Decomposition: names must hold one name for each of {count} classes, got {len(names)}.")
        labels = [str(one) for one in (range(count) if names is None else names)]
        if self.sigmoid:
            labels = [f"{label} {region}" for label in labels for region in ("background", "foreground")]
        lines = (*aligned(self._title(image), self._rows(image, labels)), *self._losses(image), LEGEND)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def _shown(self, values: Tensor, image: int | None) -> Tensor:
        """One image, or the mean over those that count; the others hold zeros."""
        if image is not None:
            return values[image]
        return values.sum(0) / (self.pixels > 0).sum(0).clamp(min=1).unsqueeze(-1)

    def _title(self, image: int | None) -> str:
        counted = (self.pixels > 0).any(-1) if self.sigmoid else self.pixels > 0
        if image is not None:
            return f"image {image}" if bool(counted[image]) else f"image {image} (no valid pixel)"
        images = int(counted.sum())
        return f"mean of {images} image{'' if images == 1 else 's'}"

    def _rows(self, image: int | None, labels: list[str]) -> list[list[str]]:
        ce, dice = self.cross_entropy, self.log_dice
        plain_plain_signed = (
            (self.true, self.predicted, self.size_error),
            (ce.matching, ce.bias, self.cross_entropy_pull),
            (dice.matching, dice.bias, self.log_dice_pull),
        )
        columns = [
            [number(value, sign) for value in self._shown(one, image).flatten().tolist()]
            for group in plain_plain_signed
            for one, sign in zip(group, ("", "", "+"), strict=True)
        ]
        rows = [[label, *cells] for label, *cells in zip(labels, *columns, strict=True)]
        if self.sigmoid:
            for background in rows[::2]:
                background[7:] = "", "", ""  # log-Dice looks at the foreground alone
        return rows

    def _losses(self, image: int | None) -> list[str]:
        dice = self.log_dice.foreground() if self.sigmoid else self.log_dice
        values = {
            "cross-entropy": [self._shown(one, image).sum(-1).mean() for one in _with_total(self.cross_entropy)],
            "log-Dice": [self._shown(one, image).mean() for one in _with_total(dice)],
        }
        reductions = ("sum over regions, mean over channels", "mean over channels")
        if not self.sigmoid:
            reductions = ("sum over regions", "mean over regions")
        return [
            sum_line(name, [float(one) for one in numbers], reduction)
            for (name, numbers), reduction in zip(values.items(), reductions, strict=True)
        ]


def decompose(stats: RegionStats, *, smooth: float = 1.0) -> Decomposition:
    """Take cross-entropy and log-Dice apart, to see where each pulls the region sizes.

    The result holds numbers to look at, without the graph, so it may be kept; nothing waits for the device until it is
    printed. To train on a part, use :func:`cross_entropy_parts` or :func:`log_dice_parts`, which keep the graph.

    Args:
        stats: statistics that hold ``nll``, ``overlap`` and ``size``, as those of ``region_stats(logits, target)``.
            ``stats.pooled()`` gives the decomposition over the whole batch.
        smooth: ε > 0 of log-Dice, in pixels.

    >>> import torch, sizewise as sw
    >>> logits, target = torch.randn(2, 3, 8, 8, requires_grad=True), torch.randint(0, 3, (2, 8, 8))
    >>> found = sw.theory.decompose(sw.region_stats(logits, target))
    >>> torch.allclose(found.cross_entropy.total.sum(1).mean(), sw.CrossEntropy()(logits, target))
    True
    >>> found.log_dice.bias.requires_grad
    False
    """
    stats = stats.detach()
    predicted, true = proportions(stats)
    return Decomposition(
        predicted, true, stats.pixels, cross_entropy_parts(stats), log_dice_parts(stats, smooth=smooth)
    )


def _with_total(parts: Parts) -> tuple[Tensor, ...]:
    return parts.total, parts.matching, parts.bias, parts.constant
