"""What Dice, log-Dice, Tversky and Jaccard have in common."""

from typing import Any

from sizewise.checks import check_smooth
from sizewise.stats.fields import OVERLAP, SIZE, Field
from sizewise.terms.reduction import Classes
from sizewise.terms.term import RegionTerm


class OverlapTerm(RegionTerm):
    """A ratio of overlap and sizes for each region, by default averaged over classes, then over images.

    Args:
        smooth: ε > 0, in pixels; keeps an absent class finite, and its gradient alive.
        scope: ``"image"``, ``"batch"`` (sums over the batch first) or ``"global"`` (over all ranks).
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        class_weight: one weight per class.
        absent: ``"include"`` classes without a pixel in the scope, or ``"skip"`` them.
        class_reduction: ``"mean"`` or ``"sum"``.
    """

    foreground_alone = True

    def __init__(
        self,
        *,
        smooth: float = 1.0,
        scope: str = "image",
        classes: Classes = "all",
        class_weight: Any = None,
        absent: str = "include",
        class_reduction: str = "mean",
    ) -> None:
        super().__init__(
            scope=scope,
            classes=classes,
            class_weight=class_weight,
            absent=absent,
            class_reduction=class_reduction,
        )
        self.smooth = check_smooth(self.label, smooth)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (OVERLAP, SIZE)

    def options(self) -> dict[str, Any]:
        return {"smooth": self.smooth} | super().options()
