"""Chunks of three or more classes: their sums, and the gradient of their sums."""

import torch
from torch import Tensor

from sizewise.stats.fields import Kind
from sizewise.stats.labels import Labels
from sizewise.stats.masks import Masks
from sizewise.stats.probabilities import Probabilities
from sizewise.stats.scratch import Scratch, sum_over_classes, sum_over_pixels

FieldKey = tuple[int, float]


class MulticlassChunk:
    """B images of M pixels and K classes under a softmax.

    Args:
        logits: (B, K, M), in the sums' dtype.
        target: (B, M) int64 labels, or (B, K, M) probabilities.
        masks: which pixels are valid, kept, and enter any sum.
        scratch: where intermediate results live.
    """

    def __init__(self, logits: Tensor, target: Tensor, masks: Masks, scratch: Scratch) -> None:
        self.shape, self.masks, self.scratch = logits.shape, masks, scratch
        if masks.entering is not None:
            # NaN times 0 is NaN, so what does not enter has to go before the sums.
            logits = logits.where(masks.entering.unsqueeze(1), 0)
        self.target: Labels | Probabilities
        if target.dtype.is_floating_point:
            self.target = Probabilities(target, masks.valid)
        else:
            self.target = Labels(target, masks.valid, self.shape[1], scratch)
        self.shifted = torch.sub(logits, logits.amax(1, keepdim=True), out=scratch("shifted", *self.shape))

    def softmax_parts(self, temperature: float) -> tuple[Tensor, Tensor]:
        """exp(τ (z − max z)) as (B, K, M), and one over its sum over classes as (B, M): their product is softmax(τ z).

        The next call overwrites the first.
        """
        exponentials = self.scratch("exponentials", *self.shape)
        if temperature == 1:
            torch.exp(self.shifted, out=exponentials)
        else:
            torch.mul(self.shifted, temperature, out=exponentials).exp_()
        ones = torch.ones(self.shape[:2], dtype=exponentials.dtype, device=exponentials.device)
        return exponentials, sum_over_classes(exponentials, ones, self.scratch).reciprocal_()

    def sums(self, fields: list[FieldKey]) -> list[Tensor]:
        """The fields in order, each (B, K) or broadcast to it."""
        results: dict[FieldKey, Tensor] = {}
        for temperature, group in by_temperature(fields).items():
            if temperature is None:
                for kind, parameter in group:
                    counts = self.target.count() if kind == Kind.COUNT else self.masks.pixels(kind)
                    results[kind, parameter] = counts
                continue
            exponentials, inverse = self.softmax_parts(temperature)
            log_p: Tensor | None = None
            for kind, parameter in group:
                if kind in (Kind.SIZE, Kind.KEPT_SIZE):
                    inside = self.masks.inside(kind)
                    weights = inverse if inside is None else inverse.where(inside, 0)
                    results[kind, parameter] = sum_over_pixels(exponentials, weights, self.scratch)
                    continue
                log_p = self._log_p(inverse) if log_p is None else log_p
                overlap = kind == Kind.OVERLAP
                results[kind, parameter] = (
                    self.target.overlap(log_p) if overlap else self.target.focal(log_p, parameter)
                )
        return [results[field] for field in fields]

    def gradient(self, coefficients: Tensor, fields: list[FieldKey], out: Tensor) -> None:
        """Write Σ over fields of ∂L/∂field · ∂field/∂z into ``out``, (B, K, M).

        The target's sums pull with q_i (p_ij − y_ij), a size sum with τ s_ij (c_j − Σ_l c_l s_il). Both are s_ij times
        (a part of the class + a part of the pixel), and what the target's own class gets less.

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
            pixel_part = torch.zeros_like(inverse)
            if len(sizes) < len(group):
                pull = self._pull({field: coefficient[field] for field in group if field not in sizes}, inverse)
                pixel_part = self.target.per_pixel(pull)
            if sizes:
                softmax.mul_(inverse.unsqueeze(1))
            else:
                pixel_part = pixel_part * inverse  # saves normalising the softmax
            class_parts = []
            for field in sizes:
                inside = self.masks.inside(field[0])
                weighted = softmax if inside is self.masks.entering else softmax * inside.unsqueeze(1)  # type: ignore[union-attr]
                # τ comes last: the coefficient of a nearly missed region may be as large as a float gets.
                pixel_part = pixel_part - sum_over_classes(weighted, coefficient[field], self.scratch) * temperature
                class_parts.append((weighted, coefficient[field].unsqueeze(-1)))
            if written:
                out.addcmul_(softmax, pixel_part.unsqueeze(1))
            else:
                torch.mul(softmax, pixel_part.unsqueeze(1), out=out)
            for weighted, part in class_parts:
                out.addcmul_(weighted, part, value=temperature)
            written = True
        if not written:
            out.zero_()
        if pull is not None:
            self.target.subtract(pull, out)
        if self.masks.entering is not None:
            # 0 times NaN or infinity would not be 0
            out.masked_fill_(self.masks.entering.logical_not().unsqueeze(1), 0)

    def _log_p(self, inverse: Tensor) -> Tensor:
        log_p = self.target.log_p(self.shifted, inverse.log())
        return self.masks.zero_unlabelled(log_p) if log_p.dim() == 2 else log_p

    def _pull(self, coefficient: dict[FieldKey, Tensor], inverse: Tensor) -> Tensor:
        """How the nll, focal and overlap sums pull at each pixel: q, (B, M) or (B, K, M)."""
        only_nll = all(field == (Kind.FOCAL, 0.0) for field in coefficient)
        log_p = inverse if only_nll else self._log_p(inverse)
        pulls = [
            self.target.overlap_pull(per_class, log_p)
            if kind == Kind.OVERLAP
            else self.target.focal_pull(per_class, log_p, parameter)
            for (kind, parameter), per_class in coefficient.items()
        ]
        total = pulls[0]
        for pull in pulls[1:]:
            total = total.add_(pull)
        return total


def by_temperature(fields: list[FieldKey]) -> dict[float | None, list[FieldKey]]:
    """The fields by the softmax that they need: the target's sums that of τ = 1, counts none."""
    groups: dict[float | None, list[FieldKey]] = {}
    for kind, parameter in fields:
        temperature: float | None = None
        if kind in (Kind.SIZE, Kind.KEPT_SIZE):
            temperature = parameter
        elif kind in (Kind.FOCAL, Kind.OVERLAP):
            temperature = 1.0
        groups.setdefault(temperature, []).append((kind, parameter))
    return groups
