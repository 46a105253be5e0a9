"""Every metric in one place: what it is called, how it is computed and pooled, which way is better, how it is shown.

Tables, reports, statistics, the command line, the documentation and the classes for torchmetrics and MONAI read this
list. A metric is added by its formula and one entry here; :func:`add_metric` does the same from outside.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from sizewise.errors import BadInput
from sizewise.metrics.overlap import Counts, dsc, iou
from sizewise.metrics.size import relative_size_error, size_error, true_proportion

if TYPE_CHECKING:  # surfaces need scipy, which a command's help does not wait for
    from sizewise.metrics.component_matches import ComponentMatches
    from sizewise.metrics.region import Region

POOLED = "_pooled"  # what follows the name of a metric that is computed from counts summed over all cases
SCALES = {"%": 100.0, "points": 100.0, "mm": 1.0, "pixels": 1.0}
LengthUnit = Literal["mm", "pixels"]


@dataclass(frozen=True)
class Metric:
    """One metric of a class in a case. Exactly one of ``of_counts``, ``of_region`` and ``of_components`` computes it.

    Attributes:
        name: in ``cases.csv``.
        label: in sentences and heads of tables.
        formula: for the documentation, in Markdown.
        span: its range, in words.
        unit: a value times ``scale`` is in it: ``%``, ``points`` (of percent) or ``mm``; see :meth:`measured_in`.
        better: which way is better; empty for what describes a case and scores nothing.
        best: what a flawless case scores. A true negative counts as this where it meets a false alarm.
        difference: what follows a difference in a sentence.
        of_counts: from counts of pixels; then it can be pooled, and computed on a device.
        of_region: from the two masks; it is asked where both have the class.
        of_lost: where one has it: a missed region or a false alarm.
        of_components: from the matched components of both masks.
        third: of those, the small, medium or large ones alone, in thirds of the data set's; empty: all.
        pooled: whether the table also has it from counts summed over all cases, as NAME_pooled.
        signed: errors of either sign are errors: |value| is compared, and the mean with its sign is the bias.
        screen: head, without the unit, and format in the terminal's tables, of the value in its unit; empty: not there.
        in_report: whether the report's tables of scores have it.
    """

    name: str
    label: str
    formula: str
    span: str
    unit: Literal["%", "points", "mm", "pixels"]
    better: Literal["higher", "lower", ""]
    best: float
    difference: str = ""
    of_counts: Callable[[Counts], float | None] | None = None
    of_region: "Callable[[Region], float | None] | None" = None
    of_lost: "Callable[[Region], float | None] | None" = None
    of_components: "Callable[[ComponentMatches], float | None] | None" = None
    third: Literal["", "small", "medium", "large"] = ""
    pooled: bool = False
    signed: bool = False
    screen: tuple[str, str] = ("", "")
    in_report: bool = True

    @property
    def scale(self) -> float:
        """A value times this is in ``unit``."""
        return SCALES[self.unit]

    def measured_in(self, unit: LengthUnit) -> "Metric":
        """The same metric where lengths are in this unit: pictures without a spacing have pixels, not millimetres.

        >>> METRICS["hd95"].measured_in("pixels").head, METRICS["dsc"].measured_in("pixels").head
        ('HD95 (pixels)', 'DSC (%)')
        """
        if self.unit not in ("mm", "pixels"):
            return self
        return replace(self, unit=unit, difference=self.difference.replace(self.unit, unit))

    @property
    def sign(self) -> int:
        """+1 if more is better, else −1."""
        return 1 if self.better == "higher" else -1

    def shown(self, value: float | None) -> str:
        """The value in its unit, as the terminal's tables have it.

        >>> METRICS["dsc"].shown(0.5), METRICS["size_error"].shown(-0.012), METRICS["hd95"].shown(None)
        ('50.00', '−1.200', '–')
        """
        return "–" if value is None else self.screen[1].format(self.scale * value).replace("-", "−")

    @property
    def head(self) -> str:
        """The head of its column.

        >>> METRICS["dsc"].head, METRICS["hd95"].head
        ('DSC (%)', 'HD95 (mm)')
        """
        return f"{self.label} ({self.unit})"


def _share(name: str, label: str, formula: str, **more: object) -> Metric:
    points = f"{label} points"
    return Metric(name, label, formula, "0 to 1", "%", "higher", 1.0, points, screen=(label, "{:.2f}"), **more)  # type: ignore[arg-type]


def _share_of_components(side: str, by_size: bool, found: "ComponentMatches") -> float | None:
    from sizewise.metrics.component_matches import precision, precision_of_third, recall

    return recall(found) if side == "true" else precision_of_third(found) if by_size else precision(found)


def _components(side: Literal["true", "predicted"], third: Literal["", "small", "medium", "large"] = "") -> Metric:
    """Recall (of the true components) or precision (of the predicted ones), of all or of one third by size."""
    name, whose, other = {
        "true": ("component_recall", "true", "predicted"),
        "predicted": ("component_precision", "predicted", "true"),
    }[side]
    label = name.replace("_", " ") + (f", {third}" if third else "")
    formula = f"the share of {whose} components that the {other} class overlaps in at least one pixel"
    if third:
        formula += f", of the {third} ones: thirds by the size of the data set's true components"
    return Metric(
        name + (f"_{third}" if third else ""),
        label,
        formula,
        "0 to 1",
        "%",
        "higher",
        1.0,
        f"points of {label}",
        of_components=partial(_share_of_components, side, bool(third)),
        third=third,
        screen=(third or name.removeprefix("component_"), "{:.2f}") if side == "true" or not third else ("", ""),
        in_report=not third,
    )


def _nsd(region: "Region") -> float:
    from sizewise.metrics.surface import nsd

    return nsd(region.distances, tolerance_mm=region.nsd_tolerance)


def _hd95(region: "Region") -> float:
    from sizewise.metrics.surface import hd95

    return hd95(region.distances)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _share("dsc", "DSC", "2 |P ∩ T| / (|P| + |T|)", of_counts=dsc, pooled=True),
        _share("iou", "IoU", "|P ∩ T| / |P ∪ T|", of_counts=iou, pooled=True),
        _share(
            "nsd",
            "NSD",
            "normalised surface Dice: the share of both surfaces, by length or area, that lies within a tolerance (mm) "
            "of the other",
            of_region=_nsd,
            of_lost=lambda region: 0.0,
        ),
        Metric(
            "hd95",
            "HD95",
            "robust Hausdorff distance, mm: the larger of the two surfaces' 95th percentiles of distance, weighted by "
            "length or area",
            "0 upwards",
            "mm",
            "lower",
            0.0,
            "mm HD95",
            of_region=_hd95,
            of_lost=lambda region: region.diagonal_mm,
            screen=("HD95", "{:.2f}"),
        ),
        Metric(
            "size_error",
            "size error",
            "(|P| − |T|) / |Ω|: predicted minus true proportion, signed",
            "−1 to 1",
            "points",
            "lower",
            0.0,
            "points of size error",
            of_counts=size_error,
            signed=True,
            screen=("of image", "{:+.3f}"),
        ),
        Metric(
            "relative_size_error",
            "relative size error",
            "(|P| − |T|) / |T|, signed",
            "−1 upwards",
            "%",
            "lower",
            0.0,
            "% size error",
            of_counts=relative_size_error,
            signed=True,
            screen=("relative", "{:+.1f}"),
            in_report=False,
        ),
        Metric(
            "true_proportion",
            "true proportion",
            "|T| / |Ω|: the share of the image that the region covers; no score, but what figures order regions by",
            "0 to 1",
            "%",
            "",
            0.0,
            of_counts=true_proportion,
            in_report=False,
        ),
        _components("true"),
        _components("true", "small"),
        _components("true", "medium"),
        _components("true", "large"),
        _components("predicted"),
        _components("predicted", "small"),
        _components("predicted", "medium"),
        _components("predicted", "large"),
    )
}


def add_metric(metric: Metric) -> None:
    """Add a metric from outside; what is scored from then on has it, in every process that calls this.

    >>> add_metric(METRICS["dsc"])
    Traceback (most recent call last):
    sizewise.errors.BadInput: there is a metric 'dsc' already. Give yours another name.
    """
    if metric.name in METRICS:
        raise BadInput(f"there is a metric {metric.name!r} already. Give yours another name.")
    METRICS[metric.name] = metric


def find_metric(name: str) -> Metric:
    """The metric of that name, if it is a score.

    >>> find_metric("hd95").better
    'lower'
    """
    if name not in score_names():
        raise BadInput(f"`metric` must be one of {', '.join(score_names())}, got '{name}'.")
    return METRICS[name]


def score_names() -> tuple[str, ...]:
    """The names of those that are scores.

    >>> score_names()[:4]
    ('dsc', 'iou', 'nsd', 'hd95')
    """
    return tuple(name for name, metric in METRICS.items() if metric.better)
