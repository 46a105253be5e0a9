"""What the rows of a table of results are of: a setting (data set and network) and an arm, named once for all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sizewise.metrics.arms import Arm, arm_of, name_arms
from sizewise.metrics.cases_csv import RunColumns
from sizewise.study.results import Results

ARM_COLUMNS = ("loss", "weight", "decision")


@dataclass(frozen=True)
class Labels:
    """Both, in order of their first row.

    Attributes:
        settings: pairs of data set and network.
        setting_of: (R,) the position of each row's setting.
        arms: what is compared.
        names: of the arms; every part of a report uses these.
        arm_of: (R,) the position of each row's arm.
        name_of: of every arm, those that are in no row included.
    """

    settings: tuple[tuple[str, str], ...]
    setting_of: np.ndarray
    arms: tuple[Arm, ...]
    names: tuple[str, ...]
    arm_of: np.ndarray
    name_of: Mapping[Arm, str]


def label_rows(results: Results, *, also: Sequence[Arm] = ()) -> Labels:
    """Find the settings and arms of a table.

    Args:
        results: the table.
        also: arms of runs that are not in it yet. They have no position, but count when names are told apart.

    >>> from sizewise.metrics.cases_csv import Row
    >>> from sizewise.study.results import results_of
    >>> rows = [Row(RunColumns(data="d", model="m", loss="RCE", weight=w), "a", 1, "dsc", 0.5) for w in ("0.1", "1")]
    >>> label_rows(results_of(rows)).names, label_rows(results_of(rows)).settings
    (('RCE λ=0.1', 'RCE λ=1'), (('d', 'm'),))
    """
    settings, setting_of = _distinct([results.text[name].codes for name in ("data", "model")])
    nameless = results.text["loss"].rows_with("")
    runs = np.where(nameless, results.text["run"].codes, -1)  # label maps from elsewhere are called after their run
    first, arm_of_row = _distinct([*(results.text[name].codes for name in ARM_COLUMNS), runs])
    arms = tuple(arm_of(_columns(results, row)) for row in first)
    everyone = [*arms, *also]
    name_of = dict(zip(everyone, name_arms(everyone), strict=True))
    pairs = tuple((_word(results, "data", row), _word(results, "model", row)) for row in settings)
    return Labels(pairs, setting_of, arms, tuple(name_of[arm] for arm in arms), arm_of_row, name_of)


def _distinct(columns: Sequence[np.ndarray]) -> tuple[list[int], np.ndarray]:
    """The first row of each combination of codes, in order of appearance, and the combination of each row."""
    if not len(columns[0]):
        return [], np.zeros(0, dtype=np.int64)
    _, first, place = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order].tolist(), np.argsort(order)[place.ravel()]


def _columns(results: Results, row: int) -> RunColumns:
    return RunColumns(**{name: _word(results, name, row) for name in ("run", *ARM_COLUMNS)})


def _word(results: Results, name: str, row: int) -> str:
    column = results.text[name]
    return column.words[column.codes[row]]
