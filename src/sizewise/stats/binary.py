"""Chunks of two regions: a sigmoid channel, or a softmax over two classes.

Both depend on one number per pixel, d = z_foreground − z_background: p_1 = σ(d), p_0 = σ(−d), so most of it is
arithmetic on (B, M), less than half the work of a softmax.
"""

from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional

from sizewise.stats.fields import Kind
from sizewise.stats.labels import Labels
from sizewise.stats.masks import Masks
from sizewise.stats.probabilities import Probabilities
from sizewise.stats.scratch import Scratch

FieldKey = tuple[int, float]
EXACT_ABOVE = 40.0  # log(1 + e^x) is x to the last digit of a double


class BinaryChunk:
    """B images (or image channels) of M pixels.

    Args:
        difference: d, (B, M), in the sums' dtype.
        target: (B, M) int64 labels, or (B, 2, M) shares of background and foreground.
        masks: which pixels are valid, kept, and enter any sum.
        scratch: where intermediate results live.
    """

    def __init__(self, difference: Tensor, target: Tensor, masks: Masks, scratch: Scratch) -> None:
        self.shape, self.masks, self.scratch = difference.shape, masks, scratch
        self.difference = difference if masks.entering is None else difference.where(masks.entering, 0)
        self.target: Labels | Probabilities
        if target.dtype.is_floating_point:
            self.target = Probabilities(target, masks.valid)
        else:
            self.target = Labels(target, masks.valid, 2, scratch)

    def buffer(self, name: str) -> Tensor:
        """Scratch memory of this chunk's shape."""
        return self.scratch(name, *self.shape)

    @cached_property
    def log_p(self) -> Tensor:
        """The log-probability of each pixel's label, (B, M), or of both regions, (B, 2, M), for probabilities."""
        if isinstance(self.target, Labels):
            one_hot = self.target.one_hot
            against = torch.sub(one_hot[:, 0], one_hot[:, 1], out=self.buffer("against")).mul_(self.difference)
        else:
            against = torch.stack((self.difference, -self.difference), 1)
        log_p = functional.softplus(against, threshold=EXACT_ABOVE, out=against).neg_()  # type: ignore[call-arg]
        # A finite smallest value: an infinite logit costs nothing where the target does not ask for it.
        log_p.clamp_(min=torch.finfo(log_p.dtype).min)
        return self.masks.zero_unlabelled(log_p) if log_p.dim() == 2 else log_p

    def sums(self, fields: list[FieldKey]) -> list[Tensor]:
        """The fields in order, each (B, 2) or broadcast to it."""
        return [self._sum(kind, parameter) for kind, parameter in fields]

    def _sum(self, kind: int, parameter: float) -> Tensor:
        if kind == Kind.COUNT:
            return self.target.count()
        if kind in (Kind.PIXELS, Kind.KEPT_PIXELS):
            return self.masks.pixels(kind)
        if kind == Kind.FOCAL:
            return self.target.focal(self.log_p, parameter)
        if kind == Kind.OVERLAP:
            return self.target.overlap(self.log_p)
        inside = self.masks.inside(kind)
        sizes = []
        for factor in (-parameter, parameter):  # each side its own sigmoid: 1 − p would round a small one away
            share = torch.mul(self.difference, factor, out=self.buffer("share")).sigmoid_()
            sizes.append((share if inside is None else share.mul_(inside)).sum(-1))
        return torch.stack(sizes, -1)

    def gradient(self, coefficients: Tensor, fields: list[FieldKey], out: Tensor) -> None:
        """Write Σ over fields of ∂L/∂field · ∂field/∂d into ``out``, (B, M).

        The target's sums pull with q_0 and q_1, which makes p_1 (q_0 + q_1) − q_1; a size with τ (c_1 − c_0) s_1 s_0.

        Args:
            coefficients: ∂L/∂field, (fields, B, 2).
            fields: the fields in the same order.
            out: where the gradient goes.
        """
        pull: Tensor | None = None
        for coefficient, (kind, parameter) in zip(coefficients, fields, strict=True):
            if kind in (Kind.FOCAL, Kind.OVERLAP):
                one = self._pull(coefficient, kind, parameter)
                pull = one if pull is None else pull.add_(one)
        if pull is None:
            out.zero_()
        else:
            torch.sigmoid(self.difference, out=out)
            out.mul_(self.target.per_pixel(pull))
            self.target.subtract_foreground(pull, out)
        for coefficient, (kind, parameter) in zip(coefficients, fields, strict=True):
            if kind in (Kind.SIZE, Kind.KEPT_SIZE):
                # τ comes last: the coefficient of a nearly missed region may be as large as a float gets.
                out.addcmul_(self._spread(kind, parameter), coefficient[:, 1:] - coefficient[:, :1], value=parameter)
        if self.masks.entering is not None:
            out.masked_fill_(self.masks.entering.logical_not(), 0)  # 0 times NaN or infinity would not be 0

    def _pull(self, coefficient: Tensor, kind: int, gamma: float) -> Tensor:
        if kind == Kind.OVERLAP:
            return self.target.overlap_pull(coefficient, self.log_p)
        # γ = 0 has no use for the logarithm, which is the costly part
        return self.target.focal_pull(coefficient, self.difference if gamma == 0 else self.log_p, gamma)

    def _spread(self, kind: int, temperature: float) -> Tensor:
        """s_1 s_0 as s − s² of the smaller share: 1 − s of the larger would round a nearly missed region to nothing."""
        smaller = torch.abs(self.difference, out=self.buffer("share")).mul_(-temperature).sigmoid_()
        spread = smaller.addcmul_(smaller, smaller, value=-1)
        inside = self.masks.inside(kind)
        return spread if inside is None or inside is self.masks.entering else spread.mul_(inside)
