"""One class of one case, as a metric sees it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sizewise.metrics.component_matches import ComponentMatches, match_components
from sizewise.metrics.overlap import Counts
from sizewise.metrics.policy import Outcome, outcome
from sizewise.metrics.registry import METRICS
from sizewise.metrics.surface import SurfaceDistances, surface_distances


@dataclass(frozen=True)
class Region:
    """What metrics are computed from.

    Attributes:
        counts: of pixels.
        predicted: (*S) bool, within the box around both masks.
        target: likewise.
        spacing: mm between neighbours along each axis.
        nsd_tolerance: mm by which a surface may be off.
        diagonal_mm: of the whole image: the largest distance that two surfaces in it can have.
    """

    counts: Counts
    predicted: np.ndarray
    target: np.ndarray
    spacing: tuple[float, ...]
    nsd_tolerance: float
    diagonal_mm: float

    @cached_property
    def distances(self) -> SurfaceDistances:
        """Between the two surfaces, measured once for all metrics that ask."""
        return surface_distances(self.predicted, self.target, spacing=self.spacing)

    @cached_property
    def components(self) -> ComponentMatches:
        """The components of both masks, matched once for all metrics that ask."""
        return match_components(self.predicted, self.target)

    @property
    def outcome(self) -> Outcome:
        """Which line of the policy's table it is on."""
        return outcome(predicted_px=self.counts.predicted, target_px=self.counts.target)


def measure_region(region: Region, names: tuple[str, ...]) -> dict[str, float | None]:
    """The metrics of these names that need masks, under the empty-mask policy."""
    found: dict[str, float | None] = {}
    for name in names:
        metric = METRICS[name]
        if metric.of_region is None:
            continue
        if region.outcome == "true negative":
            found[name] = None
        elif region.outcome == "present" or metric.of_lost is None:
            found[name] = metric.of_region(region)
        else:
            found[name] = metric.of_lost(region)
    return found
