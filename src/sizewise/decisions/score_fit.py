"""The temperature whose decisions score best on validation images.

Decisions take pixels as independent, and one temperature makes them right on average. Networks are wrong image by
image: where a few images are all wrong, the likelihood asks for a temperature that makes every other image too unsure,
and its regions too large. The score itself knows. Near 0 every decision is argmax, so argmax is among what is tried.
"""

from torch import Tensor

from sizewise.decisions.decide import decide

# From argmax to probabilities twice as unsure as a likelihood would usually ask for; steps of √2 where it matters.
TEMPERATURES = (0.05, 0.125, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)


class TemperatureScores:
    """Mean Dice or IoU of the decisions at each temperature, over images as they come.

    Args:
        metric: ``"dice"`` or ``"iou"``: what is decided for, and scored.
        activation: ``"softmax"`` or ``"sigmoid"``.
        background: the class that is not scored, or None.
        prune: see :func:`sizewise.decide`.

    >>> import torch
    >>> truth = torch.zeros(1, 8, 8, dtype=torch.long)
    >>> truth[0, 2:5, 2:5] = 1
    >>> logits = torch.stack((torch.zeros(1, 8, 8), torch.where(truth == 1, 3.0, -0.4)), 1)  # too unsure outside
    >>> scores = TemperatureScores("dice", activation="softmax", background=0)
    >>> scores.add(logits, truth, None)
    >>> scores.best() < 0.7
    True
    """

    def __init__(self, metric: str, *, activation: str, background: int | None, prune: float = 0.5) -> None:
        self.metric, self.activation, self.background, self.prune = metric, activation, background, prune
        self.sums, self.pixels = dict.fromkeys(TEMPERATURES, 0.0), 0

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
        for temperature in TEMPERATURES:
            labels = decide(
                logits,
                metric=self.metric,
                activation=self.activation,
                background=self.background,
                temperature=temperature,
                prune=self.prune,
            )
            pairs = [(labels, truth)] if sigmoid else [(labels == k, truth == k) for k in scored]
            for found, region in pairs:
                self.sums[temperature] += self._score(found, region, mask)

    def best(self) -> float:
        """The temperature with the highest score; of equal ones that nearest to argmax. 1 where nothing was scored."""
        if not self.pixels:
            return 1.0
        return max(TEMPERATURES, key=lambda temperature: self.sums[temperature])

    def _score(self, found: Tensor, region: Tensor, mask: Tensor | None) -> float:
        """Σ over images (and channels) of Dice or IoU; 1 where neither has a pixel."""
        if mask is not None:
            found, region = found & mask, region & mask
        axes = tuple(range(2 if self.activation == "sigmoid" else 1, found.dim()))
        inside, sizes = (found & region).sum(axes).double(), (found.sum(axes) + region.sum(axes)).double()
        values = 2 * inside / sizes if self.metric == "dice" else inside / (sizes - inside)
        return float(values.where(sizes > 0, 1.0).sum())
