"""The temperature whose decisions score best on validation images.

Decisions take pixels as independent, and one temperature makes them right on average. Networks are wrong image by
image: where a few images are all wrong, the likelihood asks for a temperature that makes every other image too unsure,
and its regions too large. The score itself knows. Near 0 every decision is argmax, so argmax is among what is tried.

Of few images the score knows little, and its best temperature is luck. So it begins at the likelihood's, and leaves it
as the images ask for it: the one is chosen with the highest Σ_images score(T) − PULL · log²(T / likelihood's), where
what is further away than a factor of FURTHEST is no further away.
"""

import math

from torch import Tensor

from sizewise.decisions.decide import decide

# Of what was tried by drawing validation cases again and again (benchmarks/decide_temperature.py): with two cases near
# the likelihood's, with fifty near the score's, and the worst draws far better than the score's alone.
PULL, FURTHEST = 0.4, 3.0
# From argmax to probabilities twice as unsure as a likelihood would usually ask for; steps of √2 where it matters.
TEMPERATURES = (0.05, 0.125, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)


class TemperatureScores:
    """Mean Dice or IoU of the decisions at each temperature, over images as they come.

    Args:
        metric: ``"dice"`` or ``"iou"``: what is decided for, and scored.
        likeliest: the temperature that makes the labels likeliest, which is tried as well.
        activation: ``"softmax"`` or ``"sigmoid"``.
        background: the class that is not scored, or None.
        prune: see :func:`sizewise.decide`.

    >>> import torch
    >>> truth = torch.zeros(1, 8, 8, dtype=torch.long)
    >>> truth[0, 2:5, 2:5] = 1
    >>> logits = torch.stack((torch.zeros(1, 8, 8), torch.where(truth == 1, 3.0, -0.4)), 1)  # too unsure outside
    >>> scores = TemperatureScores("dice", likeliest=1.0, activation="softmax", background=0)
    >>> scores.add(logits, truth, None)
    >>> scores.best() < 0.7
    True
    """

    def __init__(
        self, metric: str, *, likeliest: float, activation: str, background: int | None, prune: float = 0.5
    ) -> None:
        self.metric, self.activation, self.background, self.prune = metric, activation, background, prune
        self.likeliest, self.pixels = likeliest, 0
        self.sums = dict.fromkeys(sorted({*TEMPERATURES, likeliest}), 0.0)

    def add(self, logits: Tensor, target: Tensor, valid: Tensor | None) -> None:
        """Decide (N, K, *S) logits as a whole, and score them where ``valid`` (N, 1 or C, *S) is true.

        ``target`` holds labels (N, 1, *S), for sigmoid (N, C, *S), or shares of each class (N, K, *S).
        """
        sigmoid = self.activation == "sigmoid"
        if sigmoid:
            truth = target > 0.5 if target.dtype.is_floating_point else target == 1
        else:
            truth = target.argmax(1) if target.dtype.is_floating_point else target.squeeze(1)
        mask = None if valid is None else valid.expand_as(truth) if sigmoid else valid.squeeze(1)
        self.pixels += int(truth.numel() if mask is None else mask.sum())
        scored = [k for k in range(logits.shape[1]) if k != self.background]
        for temperature in self.sums:
            labels = decide(
                logits,
                metric=self.metric,
                activation=self.activation,
                background=self.background,
                temperature=temperature,
                prune=self.prune,
            )
            pairs = [(labels, truth)] if sigmoid else [(labels == k, truth == k) for k in scored]
            classes = logits.shape[1] if sigmoid else len(scored)
            for found, region in pairs:
                self.sums[temperature] += self._score(found, region, mask) / classes

    def best(self) -> float:
        """The temperature with the highest score, less the pull; 1 where nothing was scored."""
        if not self.pixels:
            return 1.0

        def pulled(temperature: float) -> float:
            away = min(abs(math.log(temperature / self.likeliest)), math.log(FURTHEST))
            return self.sums[temperature] - PULL * away**2

        return max(self.sums, key=pulled)

    def _score(self, found: Tensor, region: Tensor, mask: Tensor | None) -> float:
        """Σ over images (and channels) of Dice or IoU; 1 where neither has a pixel."""
        if mask is not None:
            found, region = found & mask, region & mask
        axes = tuple(range(2 if self.activation == "sigmoid" else 1, found.dim()))
        inside, sizes = (found & region).sum(axes).double(), (found.sum(axes) + region.sum(axes)).double()
        values = 2 * inside / sizes if self.metric == "dice" else inside / (sizes - inside)
        return float(values.where(sizes > 0, 1.0).sum())
