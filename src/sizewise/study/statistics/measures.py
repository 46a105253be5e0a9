"""How each metric is read: its unit, which direction is better, and what a flawless case scores."""

from dataclasses import dataclass

from sizewise.errors import BadInput


@dataclass(frozen=True)
class Measure:
    """One metric, as the statistics and the sentences need it.

    Attributes:
        metric: the name in the table.
        label: how sentences call it.
        unit: what follows a difference.
        scale: a value times this is in ``unit``.
        better: ``higher`` or ``lower``.
        flawless: the score of a perfect case; a true negative counts as this where it meets a false alarm.
        absolute: whether |value| is what is compared: errors of either sign are errors.
    """

    metric: str
    label: str
    unit: str
    scale: float
    better: str
    flawless: float
    absolute: bool = False

    @property
    def sign(self) -> int:
        """+1 if more is better, else −1."""
        return 1 if self.better == "higher" else -1


def _share(metric: str, label: str) -> Measure:
    return Measure(metric, label, f"{label} points", 100.0, "higher", 1.0)


MEASURES = {
    measure.metric: measure
    for measure in (
        _share("dsc", "DSC"),
        _share("iou", "IoU"),
        _share("nsd", "NSD"),
        _share("dsc_pooled", "pooled DSC"),
        _share("iou_pooled", "pooled IoU"),
        Measure("hd95", "HD95", "mm HD95", 1.0, "lower", 0.0),
        Measure("size_error", "size error", "points of size error", 100.0, "lower", 0.0, absolute=True),
        Measure("relative_size_error", "relative size error", "% size error", 100.0, "lower", 0.0, absolute=True),
    )
}


def measure(metric: str) -> Measure:
    """Look a metric up by its name in the table.

    >>> measure("hd95").better
    'lower'
    """
    if metric not in MEASURES:
        raise BadInput(f"statistics: metric must be one of {', '.join(MEASURES)}, got '{metric}'.")
    return MEASURES[metric]
