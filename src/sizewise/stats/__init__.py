"""The one pass: logits and target in, a few sums per image and class out."""

from sizewise.stats.region_stats import RegionStats
from sizewise.stats.take_stats import region_stats

__all__ = ["RegionStats", "region_stats"]
