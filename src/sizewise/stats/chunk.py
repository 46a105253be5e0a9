"""One chunk of pixels: its sums, and the gradient of its sums. The mathematics of the pass is here, once."""

from collections.abc import Sequence

import torch
from torch import Tensor

from sizewise.stats.fields import Kind
from sizewise.stats.labels import Labels
from sizewise.stats.scratch import Scratch, sum_over_classes, sum_over_pixels

Fields = Sequence[tuple[int, float]]


class Chunk:
    """B images (or image channels) of M pixels and K regions.

    Args:
        logits: (B, K, M), in the sums' dtype.
        target: (B, M) int64 labels, or (B, K, M) probabilities.
        valid: (B, M) bool, the pixels with a label that the mask keeps; None for all.
        kept: (B, M) bool, the pixels that the mask keeps; None for all.
        unlabelled: whether kept pixels without a label enter some sum.
        scratch: where intermediate results live.
    """

    def __init__(
        self,
        logits: Tensor,
        target: Tensor,
        valid: Tensor | None,
        kept: Tensor | None,
        unlabelled: bool,
        scratch: Scratch,
    ) -> None:
        self.shape, self.valid, self.kept, self.scratch = logits.shape, valid, kept, scratch
        self.entering = kept if unlabelled else valid
        if self.entering is not None:
            logits = logits.where(self.entering.unsqueeze(1), 0)  # NaN times 0 is NaN, so it goes before the sums
        self.labels: Labels | None = None
        self.probabilities: Tensor | None = None
        if target.dtype.is_floating_point:
            self.probabilities = target if valid is None else target.where(valid.unsqueeze(1), 0)
        else:
            self.labels = Labels(target, valid, self.shape[1], scratch)
        self.shifted = torch.sub(logits, logits.amax(1, keepdim=True), out=scratch("shifted", *self.shape))

    def softmax_parts(self, temperature: float) -> tuple[Tensor, Tensor]:
        """e = exp(τ (z − max z)) as (B, K, M), and 1 / Σ_k e as (B, M): their product is softmax(τ z).

        The next call overwrites e.
        """
        e = self.scratch("exponentials", *self.shape)
        if temperature == 1:
            torch.exp(self.shifted, out=e)
        else:
            torch.mul(self.shifted, temperature, out=e).exp_()
        ones = torch.ones(self.shape[:2], dtype=e.dtype, device=e.device)
        return e, sum_over_classes(e, ones, self.scratch).reciprocal_()

    def log_p(self, inverse: Tensor) -> Tensor:
        """log p of the label's class as (B, M), or of every class as (B, K, M); ``inverse`` is that of τ = 1."""
        if self.labels is None:
            return self.shifted + inverse.log().unsqueeze(1)
        return self.labels.pick(self.shifted).add_(inverse.log())

    def sums(self, fields: Fields) -> list[Tensor]:
        """The fields in order, each (B, K) or broadcast to it."""
        results: dict[tuple[int, float], Tensor] = {}
        for temperature, group in by_temperature(fields).items():
            if temperature is None:
                results |= {field: self._plain_sum(field[0]) for field in group}
                continue
            e, inverse = self.softmax_parts(temperature)
            log_p = self.log_p(inverse) if any(kind in (Kind.FOCAL, Kind.OVERLAP) for kind, _ in group) else None
            for kind, parameter in group:
                if kind in (Kind.SIZE, Kind.KEPT_SIZE):
                    inside = self.inside(kind)
                    weights = inverse if inside is None else inverse.where(inside, 0)
                    results[kind, parameter] = sum_over_pixels(e, weights, self.scratch)
                else:
                    assert log_p is not None
                    results[kind, parameter] = self._label_sum(kind, parameter, log_p)
        return [results[field] for field in fields]

    def inside(self, kind: int) -> Tensor | None:
        """The pixels that a size or pixel sum runs over; None for all."""
        return self.kept if kind in (Kind.KEPT_PIXELS, Kind.KEPT_SIZE) else self.valid

    def _plain_sum(self, kind: int) -> Tensor:
        if kind == Kind.COUNT:
            return self.labels.count() if self.labels is not None else self.probabilities.sum(-1)
        inside = self.inside(kind)
        if inside is not None:
            return inside.sum(-1, keepdim=True)
        return torch.full((self.shape[0], 1), self.shape[-1], device=self.shifted.device)

    def _label_sum(self, kind: int, gamma: float, log_p: Tensor) -> Tensor:
        if self.labels is not None:
            return self.labels.sum(focal_value(log_p, gamma) if kind == Kind.FOCAL else log_p.exp())
        if kind == Kind.OVERLAP:
            return log_p.exp().minimum(self.probabilities).sum(-1)
        # 0 · log 0 = 0: a class whose logit is −inf costs nothing where the target does not ask for it.
        return focal_value(log_p, gamma).where(self.probabilities > 0, 0).mul_(self.probabilities).sum(-1)

    def gradient(self, coefficients: Tensor, fields: Fields, out: Tensor) -> None:
        """Write Σ over fields of ∂L/∂field · ∂field/∂z into ``out``, (B, K, M).

        The label's sums pull with q_i (p_ij − y_ij), a size sum with τ s_ij (c_j − Σ_l c_l s_il). Both are s_ij times
        (a part of the class + a part of the pixel), and what the label's own class gets less.

        Args:
            coefficients: ∂L/∂field, (fields, B, K).
            fields: the fields in the same order.
            out: where the gradient goes.
        """
        coefficient = dict(zip(fields, coefficients, strict=True))
        pull: Tensor | None = None
        written = False
        for temperature, group in by_temperature(fields).items():
            if temperature is None:
                continue
            softmax, inverse = self.softmax_parts(temperature)
            sizes = [field for field in group if field[0] in (Kind.SIZE, Kind.KEPT_SIZE)]
            if len(sizes) < len(group):
                pull = self._pull({field: coefficient[field] for field in group if field not in sizes}, inverse)
                pixel_part = pull if self.labels is not None else pull.sum(1)
            else:
                pixel_part = torch.zeros_like(inverse)
            if not sizes:
                pixel_part = pixel_part * inverse  # saves normalising the softmax
            else:
                softmax.mul_(inverse.unsqueeze(1))
            class_parts = []
            for field in sizes:
                inside = self.inside(field[0])
                weighted = softmax if inside is self.entering else softmax * inside.unsqueeze(1)
                part = coefficient[field] * temperature
                pixel_part = pixel_part - sum_over_classes(weighted, part, self.scratch)
                class_parts.append((weighted, part.unsqueeze(-1)))
            if written:
                out.addcmul_(softmax, pixel_part.unsqueeze(1))
            else:
                torch.mul(softmax, pixel_part.unsqueeze(1), out=out)
            for weighted, part in class_parts:
                out.addcmul_(weighted, part)
            written = True
        if not written:
            out.zero_()
        if pull is not None and self.labels is not None:
            self.labels.subtract(pull, out)
        elif pull is not None:
            out.sub_(pull)
        if self.entering is not None:
            out.mul_(self.entering.unsqueeze(1))

    def _pull(self, coefficient: dict[tuple[int, float], Tensor], inverse: Tensor) -> Tensor:
        """q of the nll, focal and overlap sums: (B, M) for labels, (B, K, M) with y included for probabilities."""
        log_p = None if all(field == (Kind.FOCAL, 0.0) for field in coefficient) else self.log_p(inverse)
        pull: Tensor | None = None
        for (kind, gamma), per_class in coefficient.items():
            if self.labels is not None:
                one = self.labels.look_up(per_class)
            elif kind == Kind.FOCAL:
                one = per_class.unsqueeze(-1) * self.probabilities
            else:
                one = per_class.unsqueeze(-1) * (log_p.exp() < self.probabilities)
            if kind == Kind.OVERLAP:
                one.mul_(log_p.exp().neg_())
            elif gamma != 0:
                one.mul_(focal_slope(log_p, gamma))
            pull = one if pull is None else pull.add_(one)
        assert pull is not None
        return pull


def by_temperature(fields: Fields) -> dict[float | None, list[tuple[int, float]]]:
    """The fields by the softmax that they need: labels' sums that of τ = 1, counts none."""
    groups: dict[float | None, list[tuple[int, float]]] = {}
    for kind, parameter in fields:
        temperature: float | None = None
        if kind in (Kind.SIZE, Kind.KEPT_SIZE):
            temperature = parameter
        elif kind in (Kind.FOCAL, Kind.OVERLAP):
            temperature = 1.0
        groups.setdefault(temperature, []).append((kind, parameter))
    return groups


def focal_value(log_p: Tensor, gamma: float) -> Tensor:
    """−(1 − p)^γ log p, with 1 − p from expm1 so that it keeps its digits near p = 1."""
    return log_p.neg() if gamma == 0 else torch.expm1(log_p).neg_().pow_(gamma).mul_(log_p).neg_()


def focal_slope(log_p: Tensor, gamma: float) -> Tensor:
    """(1−p)^γ [1 + γ p (−log p)/(1−p)]: what the focal weight makes of the gradient of −log p."""
    rest = torch.expm1(log_p).neg_()
    ratio = torch.where(rest > 0, log_p.neg() / rest, 1.0)
    return rest.pow(gamma).mul_(ratio.mul_(log_p.exp()).mul_(gamma).add_(1))
