"""What ``sizewise evaluate`` reads from its flags and prints."""

import shlex
import sys
from pathlib import Path

from sizewise.cli.show import show_next, show_table
from sizewise.errors import BadInput
from sizewise.metrics.evaluate import Evaluation
from sizewise.metrics.summary import ClassSummary, summarise

_LARGEST_ID = 65535
_MEANS = {"DSC": "dsc", "IoU": "iou", "NSD": "nsd", "HD95 mm": "hd95"}
_SIZES = {"of the image": ("size_error", "{:+.3%}"), "relative": ("relative_size_error", "{:+.1%}")}
_COUNTS = {"cases": "cases", "true neg.": "true_negatives", "missed": "missed", "false alarms": "false_alarms"}
_POOLED = {"pooled DSC": "dsc_pooled", "pooled IoU": "iou_pooled"}


def parse_ids(text: str | None) -> list[int] | None:
    """Read class ids.

    >>> parse_ids("1,3,5-7")
    [1, 3, 5, 6, 7]
    """
    if text is None:
        return None
    ids: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            if max(int(first), int(last or first)) > _LARGEST_ID or int(last or first) < int(first):
                raise ValueError
            ids.extend(range(int(first), int(last or first) + 1))
    except ValueError as error:
        raise BadInput(f"--classes must be ids from 0 to {_LARGEST_ID}, as 1,2,5-9, got {text!r}.") from error
    return ids


def parse_numbers(text: str) -> tuple[float, ...]:
    """Read a spacing; one number holds for both axes.

    >>> parse_numbers("0.5"), parse_numbers("1,2")
    ((0.5, 0.5), (1.0, 2.0))
    """
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise BadInput(f"--spacing must be one or two numbers in mm, as 0.5,0.5, got {text!r}.") from error
    return numbers * 2 if len(numbers) == 1 else numbers


def show_evaluation(evaluation: Evaluation, *, path: Path, pred: Path, target: Path) -> None:
    """The notes on stderr, the table and the next step on stdout."""
    if evaluation.unmatched:
        _note(f"{len(evaluation.unmatched)} predictions have no target and are not scored", evaluation.unmatched)
    if evaluation.left_out:
        _note(f"{len(evaluation.left_out)} targets have no prediction and are left out", evaluation.left_out)
    if evaluation.unscored:
        _note(f"{len(evaluation.unscored)} cases have no valid pixel and are not scored", evaluation.unscored)
    if evaluation.absent:
        _note("no file holds these ids, so they are not scored (name --classes to count them)", evaluation.absent)
    summaries = summarise(evaluation.rows)
    print(f"'{pred}' against '{target}'")
    show_table("Means over cases, and pooled", ["class", *_MEANS, *_POOLED], map(_score_cells, summaries))
    show_table("Predicted minus true size, empty regions", ["class", *_SIZES, *_COUNTS], map(_size_cells, summaries))
    print(f"Wrote {path}: one line per case, class and metric. An empty value is a true negative or an empty target.")
    folders = f"--pred A={shlex.quote(str(pred))} --pred B=OTHER --target {shlex.quote(str(target))}"
    show_next(f"sizewise report {folders}  (compares two models on these cases)")


def _score_cells(one: ClassSummary) -> list[str]:
    means = [_number(one.means.get(metric), "{:.2f}" if metric == "hd95" else "{:.4f}") for metric in _MEANS.values()]
    return [str(one.class_id), *means, *(_number(one.pooled.get(metric), "{:.4f}") for metric in _POOLED.values())]


def _size_cells(one: ClassSummary) -> list[str]:
    sizes = [_number(one.means.get(metric), form) for metric, form in _SIZES.values()]
    return [str(one.class_id), *sizes, *(str(getattr(one, count)) for count in _COUNTS.values())]


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def _note(sentence: str, names: tuple) -> None:
    listed = ", ".join(str(name) for name in names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    print(f"Note: {sentence}: {listed}.", file=sys.stderr)
