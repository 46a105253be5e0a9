"""What ``sizewise evaluate`` reads from its flags and prints."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sizewise.cli.score_screen import show_scores
from sizewise.cli.show import show_next
from sizewise.data.names_beside import names_beside
from sizewise.errors import BadInput
from sizewise.evaluate.folders import Evaluation
from sizewise.wording import counted, few

_LARGEST_ID = 65535


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


def parse_regions(text: str | None) -> list[list[int]]:
    """Read sets of class ids.

    >>> parse_regions("1-3;2,3;3")
    [[1, 2, 3], [2, 3], [3]]
    """
    try:
        return [parse_ids(part) or [] for part in text.split(";")] if text else []
    except BadInput as error:
        raise BadInput(f"--regions must be sets of ids with ; between them, as '1,2;2', got {text!r}.") from error


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


def show_evaluation(
    evaluation: Evaluation,
    *,
    path: Path,
    pred: Path,
    target: Path,
    regions: Sequence[Sequence[int]],
    options: Mapping[str, tuple[object, object]],
) -> None:
    """The notes on stderr, the table and the next step, with the same ``options`` (value, default), on stdout."""
    if evaluation.unmatched:
        number = counted(len(evaluation.unmatched), "prediction has", "predictions have")
        _note(f"{number} no target; not scored", evaluation.unmatched)
    if evaluation.left_out:
        number = counted(len(evaluation.left_out), "target has", "targets have")
        _note(f"{number} no prediction; left out", evaluation.left_out)
    if evaluation.unscored:
        number = counted(len(evaluation.unscored), "case has", "cases have")
        _note(f"{number} no valid pixel; not scored", evaluation.unscored)
    if evaluation.absent:
        _note("no file holds these ids, so they are not scored (name --classes to count them)", evaluation.absent)
    print(f"'{pred}' against '{target}'")
    show_scores(
        evaluation.rows,
        names=names_beside(target, regions=tuple(map(tuple, regions))),
        length_unit=evaluation.length_unit,
    )
    print(f"Wrote {path}: one line per case, class and metric. An empty value is a true negative or an empty target.")
    words = ["sizewise", "report", "--pred", f"A={pred}", "--pred", "B=OTHER", "--target", str(target)]
    for flag, (value, usual) in options.items():
        words += [] if value == usual else [flag, str(value)]
    show_next(f"{shlex.join(words)}  # compares two models on these cases")


def _note(sentence: str, names: tuple) -> None:
    print(f"Note: {sentence}: {few(names, most=8)}.", file=sys.stderr)
