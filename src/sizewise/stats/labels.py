"""Label targets of one chunk: adding up and looking up by label, the fastest way that is exact and repeatable."""

from functools import cached_property

import torch
from torch import Tensor

from sizewise.stats.focal import focal_slope, focal_value
from sizewise.stats.scratch import Scratch, sum_over_classes, sum_over_pixels

# Up to here comparing every pixel with every class beats an indexed walk over the pixels.
FEW_CLASSES = 8


class Labels:
    """The labels (B, M) of one chunk; pixels that are not valid count nowhere.

    Args:
        labels: int64, (B, M).
        valid: bool, (B, M), or None for all.
        regions: K.
        scratch: where the comparison lives.
    """

    def __init__(self, labels: Tensor, valid: Tensor | None, regions: int, scratch: Scratch) -> None:
        # A dropped pixel's label may be anything; 0 keeps every lookup in range.
        self.labels = labels if valid is None else labels.where(valid, 0)
        self.valid, self.regions, self.scratch = valid, regions, scratch
        # Indexed sums run in any order on other devices; comparing adds up in a fixed one everywhere.
        self.dense = regions <= FEW_CLASSES or labels.device.type != "cpu"

    @cached_property
    def one_hot(self) -> Tensor:
        """(B, K, M): 1 at each valid pixel's class."""
        shape = (len(self.labels), self.regions, self.labels.shape[1])
        if self.regions == 2:
            one_hot = self.scratch("one hot", *shape)
            one_hot[:, 1].copy_(self.labels)
            torch.sub(self.scratch.one, one_hot[:, 1], out=one_hot[:, 0])
            return one_hot if self.valid is None else one_hot.mul_(self.valid.unsqueeze(1))
        labels = self.scratch("labels", *self.labels.shape).copy_(self.labels)
        if self.valid is not None:
            labels = labels.where(self.valid, -1)
        classes = torch.arange(self.regions, dtype=labels.dtype, device=labels.device).unsqueeze(1)
        # Floats compared into floats is what torch's CPU backend vectorises: four times faster than integers.
        return torch.eq(labels.unsqueeze(1), classes, out=self.scratch("one hot", *shape))

    @cached_property
    def bins(self) -> Tensor:
        """Image · K + label of each pixel, flat; dropped pixels go to one bin past the end."""
        bins = self.labels
        if len(bins) > 1:
            bins = bins + torch.arange(0, len(bins) * self.regions, self.regions).unsqueeze(1)
        if self.valid is not None:
            bins = bins.where(self.valid, len(bins) * self.regions)
        return bins.flatten()

    def count(self) -> Tensor:
        """How many pixels each class has, (B, K)."""
        return self.one_hot.sum(-1) if self.dense else self._bincount(None)

    def log_p(self, shifted: Tensor, log_inverse: Tensor) -> Tensor:
        """The log-probability of each pixel's own class, (B, M)."""
        return shifted.gather(1, self.labels.unsqueeze(1)).squeeze(1).add_(log_inverse)

    def focal(self, log_p: Tensor, gamma: float) -> Tensor:
        """Σ −(1 − p)^γ log p over the pixels of each class, (B, K)."""
        if gamma == 0:
            return self._sum(log_p).neg_()  # one sign per class rather than per pixel
        return self._sum(focal_value(log_p, gamma))

    def overlap(self, log_p: Tensor) -> Tensor:
        """Σ p over the pixels of each class, (B, K)."""
        return self._sum(torch.exp(log_p, out=self.scratch("p", *log_p.shape)))

    def focal_pull(self, coefficient: Tensor, log_p: Tensor, gamma: float) -> Tensor:
        """What the focal sums add to q, (B, M)."""
        return self._look_up(coefficient).mul_(focal_slope(log_p, gamma))

    def overlap_pull(self, coefficient: Tensor, log_p: Tensor) -> Tensor:
        """What the overlap sums add to q, (B, M)."""
        return self._look_up(coefficient).mul_(torch.exp(log_p, out=self.scratch("p", *log_p.shape)).neg_())

    def per_pixel(self, pull: Tensor) -> Tensor:
        """The pull q itself: one class per pixel has it."""
        return pull

    def subtract_foreground(self, pull: Tensor, out: Tensor) -> None:
        """Take q off ``out``, both (B, M), at the pixels of class 1."""
        out.addcmul_(self.one_hot[:, 1], pull, value=-1)

    def subtract(self, pull: Tensor, out: Tensor) -> None:
        """Take q (B, M), 0 at dropped pixels, off ``out`` (B, K, M) at each pixel's class."""
        if self.dense:
            out.addcmul_(self.one_hot, pull.unsqueeze(1), value=-1)
        else:
            out.scatter_add_(1, self.labels.unsqueeze(1), pull.neg().unsqueeze(1))

    def _sum(self, values: Tensor) -> Tensor:
        return sum_over_pixels(self.one_hot, values, self.scratch) if self.dense else self._bincount(values)

    def _look_up(self, per_class: Tensor) -> Tensor:
        """Each pixel's entry of ``per_class`` (B, K), as (B, M); 0 at dropped pixels."""
        if self.dense:
            return sum_over_classes(self.one_hot, per_class, self.scratch)
        flat = torch.cat((per_class.flatten(), per_class.new_zeros(1)))
        return flat.index_select(0, self.bins).view(self.labels.shape)

    def _bincount(self, values: Tensor | None) -> Tensor:
        total = len(self.labels) * self.regions
        weights = None if values is None else values.double().flatten()
        return torch.bincount(self.bins, weights=weights, minlength=total + 1)[:total].view(-1, self.regions)
