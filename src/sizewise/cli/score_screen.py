"""The scores of label maps on the screen: two tables that fit a terminal of 80 columns."""

from collections.abc import Iterable, Mapping

from sizewise.cli.show import show_table
from sizewise.metrics.cases_csv import Row
from sizewise.metrics.class_summary import ClassSummary, summarise

_MEANS = {"DSC": "dsc", "IoU": "iou", "NSD": "nsd", "HD95 mm": "hd95"}
_POOLED = {"pooled DSC": "dsc_pooled", "pooled IoU": "iou_pooled"}
_SIZES = {"of image": ("size_error", "{:+.3%}"), "relative": ("relative_size_error", "{:+.1%}")}
_COUNTS = {"cases": "cases", "true neg.": "true_negatives", "missed": "missed", "false alarms": "false_alarms"}


def show_scores(rows: Iterable[Row], *, title: str = "", names: Mapping[int, str] | None = None) -> None:
    """Print means over cases and pooled scores, then size errors and counts of empty regions.

    Args:
        rows: the lines of a cases.csv.
        title: stands before what the first table says it is.
        names: of the classes, by id.
    """
    summaries = summarise(rows)
    labels = [f"{one.class_id} {(names or {}).get(one.class_id, '')}".strip() for one in summaries]
    scores = [[label, *_score_cells(one)] for label, one in zip(labels, summaries, strict=True)]
    sizes = [[label, *_size_cells(one)] for label, one in zip(labels, summaries, strict=True)]
    heading = f"{title}: means over cases, and pooled" if title else "Means over cases, and pooled"
    show_table(heading, ["class", *_MEANS, *_POOLED], scores)
    show_table("Predicted minus true size, empty regions", ["class", *_SIZES, *_COUNTS], sizes)


def _score_cells(one: ClassSummary) -> list[str]:
    means = [_number(one.means.get(metric), "{:.2f}" if metric == "hd95" else "{:.4f}") for metric in _MEANS.values()]
    return [*means, *(_number(one.pooled.get(metric), "{:.4f}") for metric in _POOLED.values())]


def _size_cells(one: ClassSummary) -> list[str]:
    sizes = [_number(one.means.get(metric), form) for metric, form in _SIZES.values()]
    return [*sizes, *(str(getattr(one, count)) for count in _COUNTS.values())]


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)
