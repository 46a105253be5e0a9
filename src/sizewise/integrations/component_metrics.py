"""Recall and precision of components for metrics that see one batch after another."""

import torch
from torch import Tensor

from sizewise.metrics.component_matches import Matches, match_components, third_limits
from sizewise.metrics.registry import METRICS


def component_metrics() -> tuple[str, ...]:
    """The names of the scores that are computed from matched components.

    >>> component_metrics()[:2]
    ('component_recall', 'component_recall_small')
    """
    return tuple(name for name, metric in METRICS.items() if metric.of_components is not None)


def check_thirds(metric: str, thirds_px: tuple[float, float] | None) -> tuple[float, float] | None:
    """Raise where a metric by size lacks the sizes: a batch does not know the data set's."""
    if thirds_px is None and METRICS[metric].third:
        raise ValueError(
            f"RegionMetric: {metric} needs component_thirds_px=(small, medium), the largest size of a small and of a "
            "medium component in pixels; sizewise.metrics.component_matches.size_thirds(sizes) finds them."
        )
    return thirds_px


def count_components(
    metric: str, predicted: Tensor, target: Tensor, valid: Tensor, thirds_px: tuple[float, float] | None
) -> Tensor:
    """Of each channel of bool masks (N, C, *S): how many components are met, and how many there are, (N, C, 2)."""
    how = METRICS[metric]
    rows = []
    for here, there, inside in zip(predicted.cpu(), target.cpu(), valid.cpu(), strict=True):
        for one, other, kept in zip(here, there, inside, strict=True):
            both = match_components((one & kept).numpy(), (other & kept).numpy())
            side: Matches = both.true if metric.startswith("component_recall") else both.predicted
            if how.third and thirds_px is not None:
                side = side.within(third_limits(how.third, thirds_px))
            rows.append([sum(side.met), len(side.met)])
    return torch.tensor(rows, dtype=torch.int64, device=predicted.device).view(*predicted.shape[:2], 2)
