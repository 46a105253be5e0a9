"""What all terms have in common: a scope, a choice of classes, and a formula on RegionStats."""

from abc import abstractmethod
from typing import Any

from torch import Tensor

from sizewise.checks import check_word
from sizewise.criterion import Criterion
from sizewise.stats.region_stats import SCOPES, RegionStats
from sizewise.terms.reduction import (
    ABSENT,
    CLASS_REDUCTIONS,
    ClassChoice,
    Classes,
    mean_over_images,
    or_one,
    reduce_classes,
)


class Term(Criterion):
    """One loss term: hyper-parameters, the sums it needs, and its value."""

    def __init__(self, *, scope: str, classes: Classes, class_weight: Any) -> None:
        super().__init__()
        self.scope = check_word(self.label, "scope", scope, SCOPES)
        self.choice = ClassChoice(self.label, classes, class_weight)

    @property
    def label(self) -> str:
        return type(self).__name__

    @property
    def names(self) -> tuple[str, ...]:
        return (self.label,)

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset((self.scope,))

    @abstractmethod
    def value(self, stats: RegionStats) -> Tensor:
        """The term's value, a 0-dim tensor."""

    def per_cell(self, stats: RegionStats) -> Tensor:
        """The value of each class on each of its cells, (rows, K), or (rows, C) for sigmoid; see ``per_component``."""
        raise TypeError(f"per_component: {self.label} has no value per component; it would define per_cell(stats).")

    def terms_from_stats(self, stats: RegionStats) -> dict[str, Tensor]:
        value = self.value(stats)
        if not isinstance(value, Tensor) or value.dim():
            got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise TypeError(
                f"{self.label}: value(stats) must return one number as a tensor without axes, got {got}. Reduce it "
                "with .mean() or .sum(), or define per_region and let the term average."
            )
        return {self.label: value}

    def total(self, terms: dict[str, Tensor]) -> Tensor:
        return terms[self.label]

    def options(self) -> dict[str, Any]:
        """The hyper-parameters that ``repr`` shows, by name."""
        return {"scope": self.scope, "classes": self.choice.classes, "class_weight": self.choice.class_weight}

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """The keyword arguments of the constructor."""
        return tuple(cls.__init__.__kwdefaults__ or ())

    def __repr__(self) -> str:
        defaults: dict[str, Any] = {}
        for kind in reversed(type(self).__mro__):  # one's own term may leave options to the term it is made from
            defaults |= getattr(vars(kind).get("__init__"), "__kwdefaults__", None) or {}
        shown = []
        for name, value in self.options().items():
            if isinstance(value, Tensor):
                shown.append(f"{name}={value.tolist()}")
            elif name not in defaults or value != defaults[name]:
                shown.append(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value!r}")
        return f"{self.label}({', '.join(shown)})"


class PixelTerm(Term):
    """A mean over pixels: Σ_k w_k field_k / Σ_k w_k count_k."""

    @abstractmethod
    def per_region(self, stats: RegionStats) -> Tensor:
        """The field whose mean is taken."""

    def value(self, stats: RegionStats) -> Tensor:
        if self.scope == "global":
            stats = stats.scoped("global")
        values, count = self.per_region(stats), stats.count
        weight = self.choice.weight_like(values, stats.sigmoid)
        if weight is not None:
            values, count = values * weight, count * weight
        axes = (-1,) if self.scope == "image" else (0, -1)  # sums over a batch need no pooling first
        total = self.choice.select(values, stats.sigmoid).sum(axes)
        pixels = self.choice.select(count, stats.sigmoid).sum(axes)
        mean = total / or_one(pixels)
        if self.scope == "image":
            return mean_over_images(mean, self.choice.select_channels(stats.pixels, stats.sigmoid) > 0)
        return mean.mean() if mean.dim() else mean

    def per_cell(self, stats: RegionStats) -> Tensor:
        values, count = self.per_region(stats), stats.count
        if not stats.sigmoid:
            return values / or_one(count)
        weight = self.choice.weight_like(values, True)
        if weight is not None:
            values, count = values * weight, count * weight
        return values.sum(-1) / or_one(count.sum(-1))


class RegionTerm(Term):
    """A value for each region, reduced over classes, then over images."""

    foreground_alone = False
    """Whether a sigmoid channel's value is that of its foreground, rather than of both its regions."""

    def __init__(self, *, scope: str, classes: Classes, class_weight: Any, absent: str, class_reduction: str) -> None:
        super().__init__(scope=scope, classes=classes, class_weight=class_weight)
        self.absent = check_word(self.label, "absent", absent, ABSENT)
        self.class_reduction = check_word(self.label, "class_reduction", class_reduction, CLASS_REDUCTIONS)

    @abstractmethod
    def per_region(self, stats: RegionStats, images: RegionStats) -> Tensor:
        """The value of each region in the scope's ``stats``; ``images`` are the sums before pooling."""

    def value(self, stats: RegionStats) -> Tensor:
        scoped = stats.scoped(self.scope)
        values = self.per_region(scoped, stats)
        weight = self.choice.weight_like(values, stats.sigmoid)
        weight = None if weight is None else self.chosen(weight, stats)
        channel_weight = None
        if weight is not None and stats.sigmoid and self.foreground_alone:
            channel_weight, weight = weight.squeeze(-1), None  # one region a channel: nothing to weigh within it
        used = self.present(scoped) if self.absent == "skip" else None
        per_image, any_left = reduce_classes(
            self.chosen(values, stats),
            weight,
            None if used is None else self.chosen(used, stats),
            self.class_reduction,
        )
        counted = self.choice.select_channels(self.image_pixels(scoped), stats.sigmoid) > 0
        if any_left is not None:
            counted = counted & any_left
        return mean_over_images(per_image, counted, channel_weight)

    def per_cell(self, stats: RegionStats) -> Tensor:
        values = self.per_region(stats, stats)
        if not stats.sigmoid:
            return values
        if self.foreground_alone:
            return values[..., 1]
        used = self.present(stats) if self.absent == "skip" else None
        return reduce_classes(values, self.choice.weight_like(values, True), used, self.class_reduction)[0]

    def chosen(self, values: Tensor, stats: RegionStats) -> Tensor:
        """The regions of ``values`` that this term looks at."""
        return self.choice.select(values, stats.sigmoid, self.foreground_alone)

    def image_pixels(self, stats: RegionStats) -> Tensor:
        """The number of pixels that make an image count, (N,) or (N, C)."""
        return stats.pixels

    def present(self, stats: RegionStats) -> Tensor:
        """Where a class has any pixel in the scope's sums."""
        return stats.count > 0

    def options(self) -> dict[str, Any]:
        return super().options() | {"absent": self.absent, "class_reduction": self.class_reduction}
