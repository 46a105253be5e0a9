"""Size terms that keep proportions between a lower and an upper bound."""

from typing import Any

from torch import Tensor

from sizewise.checks import check_values
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import Classes
from sizewise.terms.size import SizeTerm, both_regions


class SizeLimitsTerm(SizeTerm):
    """A penalty on leaving [lower, upper], each a number, (K,) or (N, K); for sigmoid of the foreground's share."""

    lower: Tensor
    upper: Tensor

    def __init__(
        self,
        lower: Any = 0.0,
        upper: Any = 1.0,
        *,
        temperature: float = 10.0,
        pixels: str = "valid",
        scope: str = "image",
        classes: Classes = "all",
        class_weight: Any = None,
        absent: str = "include",
        class_reduction: str = "sum",
    ) -> None:
        super().__init__(
            temperature=temperature,
            pixels=pixels,
            scope=scope,
            classes=classes,
            class_weight=class_weight,
            absent=absent,
            class_reduction=class_reduction,
        )
        limits = {
            name: check_values(self.label, name, value, maximum=1)
            for name, value in (("lower", lower), ("upper", upper))
        }
        for name, value in limits.items():
            if value.dim() > 2:
                raise ValueError(f"{self.label}: {name} must be a number, (K,) or (N, K), got {tuple(value.shape)}.")
            self.register_buffer(name, value)
        if not _ordered(limits["lower"], limits["upper"]):
            raise ValueError(
                f"{self.label}: lower must be <= upper for every class, got lower={limits['lower'].tolist()} and "
                f"upper={limits['upper'].tolist()}."
            )

    def limits(self, images: RegionStats) -> tuple[Tensor, Tensor]:
        """Lower and upper bounds of each region; a sigmoid background's follow from its foreground's."""
        lower, upper = self.shares("lower", self.lower, images), self.shares("upper", self.upper, images)
        if not images.sigmoid:
            return lower, upper
        return both_regions(1 - upper, lower), both_regions(1 - lower, upper)

    def options(self) -> dict[str, Any]:
        return {"lower": self.lower, "upper": self.upper} | super().options()


def _ordered(lower: Tensor, upper: Tensor) -> bool:
    try:
        return bool((lower <= upper).all())
    except RuntimeError:  # shapes that cannot meet; the call names the right ones
        return True
