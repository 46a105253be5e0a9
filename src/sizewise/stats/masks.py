"""Which pixels of a chunk count for what."""

import torch
from torch import Tensor

from sizewise.stats.fields import Kind


class Masks:
    """Bool masks (B, M); None stands for every pixel.

    Args:
        shape: (B, M).
        valid: pixels with a label that the mask keeps.
        kept: pixels that the mask keeps, labelled or not.
        unlabelled: whether kept pixels without a label enter some sum.
    """

    def __init__(self, shape: tuple[int, int], valid: Tensor | None, kept: Tensor | None, unlabelled: bool) -> None:
        same = valid is kept
        self.shape = shape
        self.valid = drop_if_full(valid)
        self.kept = self.valid if same else drop_if_full(kept)
        self.entering = self.kept if unlabelled else self.valid

    def inside(self, kind: int) -> Tensor | None:
        """The pixels that a size or pixel sum of this kind runs over."""
        return self.kept if kind in (Kind.KEPT_PIXELS, Kind.KEPT_SIZE) else self.valid

    def zero_unlabelled(self, values: Tensor) -> Tensor:
        """``values`` (B, M) with 0 at pixels that entered for their size alone: whatever their logits are."""
        return values if self.valid is self.entering or self.valid is None else values.where(self.valid, 0)

    def pixels(self, kind: int) -> Tensor:
        """How many those are, (B, 1)."""
        inside = self.inside(kind)
        return torch.tensor([[self.shape[1]]]) if inside is None else inside.sum(-1, keepdim=True)


def drop_if_full(inside: Tensor | None) -> Tensor | None:
    """``None`` where every pixel is inside, which saves the masking; asked only where the answer costs no wait."""
    return None if inside is not None and inside.device.type == "cpu" and bool(inside.all()) else inside
