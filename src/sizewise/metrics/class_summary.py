"""From the scores of cases to one line per class."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from sizewise.metrics.cases_csv import Row, RunColumns
from sizewise.metrics.registry import POOLED


@dataclass(frozen=True)
class ClassSummary:
    """One class of one run.

    Attributes:
        of: the run.
        class_id: the label.
        cases: scored cases, true negatives included.
        true_negatives: cases where neither map has the class; they have no dsc, iou, nsd, hd95.
        missed: cases where only the target has it.
        false_alarms: cases where only the prediction has it.
        means: by metric: the mean over the cases that have a value; None where none has.
        pooled: by metric, as ``dsc_pooled``.
    """

    of: RunColumns
    class_id: int
    cases: int
    true_negatives: int
    missed: int
    false_alarms: int
    means: dict[str, float | None]
    pooled: dict[str, float | None]


def summarise(rows: Iterable[Row]) -> list[ClassSummary]:
    """One summary per run and class, ordered by both.

    >>> of = RunColumns()
    >>> (one,) = summarise([Row(of, "a", 1, "dsc", 0.5), Row(of, "b", 1, "dsc", None), Row(of, "c", 1, "dsc", 1.0)])
    >>> one.cases, one.true_negatives, one.means["dsc"]
    (3, 1, 0.75)
    """
    tables: dict[tuple[RunColumns, int], dict[str, dict[str, float | None]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        tables[row.of, row.class_id][row.metric][row.case] = row.value
    ordered = sorted(tables, key=lambda key: (astuple(key[0]), key[1]))
    return [_class_summary(of, class_id, tables[of, class_id]) for of, class_id in ordered]


def _class_summary(of: RunColumns, class_id: int, table: dict[str, dict[str, float | None]]) -> ClassSummary:
    per_case = {metric: values for metric, values in table.items() if not metric.endswith(POOLED)}
    dsc, relative = per_case.get("dsc", {}), per_case.get("relative_size_error", {})
    return ClassSummary(
        of=of,
        class_id=class_id,
        cases=len(dsc),
        true_negatives=sum(value is None for value in dsc.values()),
        missed=sum(value == -1 for value in relative.values()),  # (0 − T) / T is −1 to the last bit, and only then
        false_alarms=sum(value is None and dsc.get(case) is not None for case, value in relative.items()),
        means={metric: _mean(values.values()) for metric, values in per_case.items()},
        pooled={metric: value for metric in table.keys() - per_case.keys() for value in table[metric].values()},
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
