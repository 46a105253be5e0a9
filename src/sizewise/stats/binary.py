"""Chunks of two regions: a sigmoid channel, or a softmax over two classes.

Both depend on one number per pixel, d = z_foreground − z_background: p_1 = σ(d), p_0 = σ(−d), so all of it is
arithmetic on (B, M), half the work of a softmax.
"""

from collections.abc import Iterable
from functools import cached_property, partial

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from sizewise.stats.fields import Kind
from sizewise.stats.focal import focal_slope, focal_value
from sizewise.stats.masks import Masks

FieldKey = tuple[int, float]
SIGNS = (-1, 1)  # of d, for the background and the foreground


class BinaryChunk:
    """B images (or image channels) of M pixels.

    Args:
        difference: d, (B, M), in the sums' dtype.
        target: the shares y of background and foreground, each (B, M).
        hard: whether those are 0 and 1 alone, as from labels.
        masks: which pixels are valid, kept, and enter any sum.
    """

    def __init__(self, difference: Tensor, target: tuple[Tensor, Tensor], hard: bool, masks: Masks) -> None:
        self.hard, self.masks = hard, masks
        self.difference = difference if masks.entering is None else difference.where(masks.entering, 0)
        background, foreground = target
        if masks.valid is not None:
            background, foreground = background.where(masks.valid, 0), foreground.where(masks.valid, 0)
        self.target = (background, foreground)

    @cached_property
    def log_p(self) -> tuple[Tensor, Tensor]:
        """The log-probabilities of background and foreground; for hard labels that of the label, twice.

        Only what the target asks for enters a sum, so one logarithm serves both.
        """
        if self.hard:
            own = logsigmoid((self.target[1] - self.target[0]).mul_(self.difference))
            own = self.masks.zero_unlabelled(own)
            return own, own
        return logsigmoid(-self.difference), logsigmoid(self.difference)

    def sums(self, fields: list[FieldKey]) -> list[Tensor]:
        """The fields in order, each (B, 2) or broadcast to it."""
        return [
            self.masks.pixels(kind)
            if kind in (Kind.PIXELS, Kind.KEPT_PIXELS)
            else torch.stack([values.sum(-1) for values in self._summands(kind, parameter)], -1)
            for kind, parameter in fields
        ]

    def _summands(self, kind: int, parameter: float) -> Iterable[Tensor]:
        """What a field sums over the pixels, for background and foreground."""
        if kind == Kind.COUNT:
            return self.target
        if kind in (Kind.SIZE, Kind.KEPT_SIZE):
            inside = self.masks.inside(kind)
            shares = ((self.difference * (sign * parameter)).sigmoid_() for sign in SIGNS)
            return shares if inside is None else (share.where(inside, 0) for share in shares)
        make = torch.exp if kind == Kind.OVERLAP else partial(focal_value, gamma=parameter)
        first = make(self.log_p[0])
        values = (first, first if self.hard else make(self.log_p[1]))
        if kind == Kind.OVERLAP:
            return map(torch.minimum, values, self.target)
        # 0 · log 0 = 0: an infinite logit costs nothing where the target does not ask for it
        largest = torch.finfo(first.dtype).max
        return (value.clamp(max=largest).mul_(y) for value, y in zip(values, self.target, strict=True))

    def gradient(self, coefficients: Tensor, fields: list[FieldKey], out: Tensor) -> None:
        """Write Σ over fields of ∂L/∂field · ∂field/∂d into ``out``, (B, M).

        With σ_r = ±1 and p_r the region's probability: −y_r σ_r (1 − p_r) times the focal slope for focal sums,
        σ_r p_r (1 − p_r) where p_r < y_r for the overlap, and τ (c_1 − c_0) s_1 s_0 for a size.

        Args:
            coefficients: ∂L/∂field, (fields, B, 2).
            fields: the fields in the same order.
            out: where the gradient goes.
        """
        out.zero_()
        # Each side its own sigmoid: 1 − p would round a nearly missed region, and its way back, to nothing.
        p = (self.difference.neg().sigmoid_(), self.difference.sigmoid())
        for coefficient, (kind, parameter) in zip(coefficients, fields, strict=True):
            if kind in (Kind.SIZE, Kind.KEPT_SIZE):
                shares = p if parameter == 1 else [(self.difference * (sign * parameter)).sigmoid_() for sign in SIGNS]
                pull = shares[0] * shares[1]
                inside = self.masks.inside(kind)
                if inside is not None and inside is not self.masks.entering:
                    pull.mul_(inside)
                # τ comes last: the coefficient of a nearly missed region may be as large as a float gets.
                out.addcmul_(pull, coefficient[:, 1:] - coefficient[:, :1], value=parameter)
            elif kind in (Kind.FOCAL, Kind.OVERLAP):
                for region, sign in enumerate(SIGNS):
                    y, share, rest = self.target[region], p[region], p[1 - region]
                    if kind == Kind.OVERLAP:
                        passes = y if self.hard else torch.lt(share, y, out=torch.empty_like(y))
                        pull = (share * rest).mul_(passes).neg_()
                    else:
                        pull = (y * rest).mul_(focal_slope(self.log_p[region], parameter))
                    out.addcmul_(pull, coefficient[:, region : region + 1], value=-sign)
        if self.masks.entering is not None:
            out.masked_fill_(self.masks.entering.logical_not(), 0)  # 0 times NaN or infinity would not be 0
