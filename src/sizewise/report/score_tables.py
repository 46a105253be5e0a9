"""The tables of scores: one per data set and model, with every metric; and one per class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sizewise.metrics.registry import METRICS, POOLED, LengthUnit, Metric
from sizewise.report.conclusions import Conclusions
from sizewise.report.formatted_table import Cell, Table, ranked
from sizewise.report.means import Mean, class_means, group_means, overall_means
from sizewise.report.scores import Scores
from sizewise.report.true_sizes import TrueSizes

MANY_CLASSES = 40
SPREAD_CLASSES = 6  # up to so many, cells have the standard deviation too


@dataclass(frozen=True)
class Column:
    """One reading of a metric: its rows in the table, its head, its scale, and which way is better ("": neither)."""

    name: str
    head: str
    scale: float
    better: str
    absolute: bool = False


def table_columns(length_unit: LengthUnit = "mm") -> Iterator[Column]:
    """Of each score: its mean over cases, then the pooled ones, then errors without their sign and the bias.

    >>> [column.head for column in table_columns()][-4:]
    ['pooled DSC (%)', 'pooled IoU (%)', '|size error| (points)', 'size bias (points)']
    """
    known = (metric.measured_in(length_unit) for metric in METRICS.values())
    scored = [metric for metric in known if metric.better and metric.in_report]
    for metric in scored:
        if not metric.signed:
            yield Column(metric.name, metric.head, metric.scale, metric.better)
    for metric in scored:
        if metric.pooled:
            yield Column(metric.name + POOLED, f"pooled {metric.head}", metric.scale, metric.better)
    for metric in scored:
        if metric.signed:
            head = f"|{metric.label}| ({metric.unit})"
            yield Column(metric.name, head, metric.scale, metric.better, absolute=True)
            yield Column(metric.name, f"{metric.label.removesuffix(' error')} bias ({metric.unit})", metric.scale, "")


def score_tables(scores: Scores, conclusions: Conclusions) -> list[Table]:
    """Rows are arms; the note says over how many cases and seeds. What compares data sets comes first."""
    across = across_table(scores, conclusions)
    tables = [across] if across else []
    for setting, name in enumerate(scores.settings):
        heads = [scores.what]
        rows: list[list[Cell]] = [[Cell(arm)] for arm in scores.arm_names]
        present = [False] * len(rows)
        for column in table_columns(scores.length_units.get(setting, "mm")):
            means = overall_means(scores, column.name, absolute=column.absolute)
            found = [means.get((setting, arm)) for arm in range(len(rows))]
            if not any(found):
                continue
            heads.append(column.head)
            ticks = [conclusions.tick(name, arm, column.name) for arm in scores.arm_names] if column.better else ()
            _add_column(rows, found, scale=column.scale, better=column.better, ticks=ticks)
            present = [before or mean is not None for before, mean in zip(present, found, strict=True)]
        kept = [row for row, keep in zip(rows, present, strict=True) if keep]
        tables.append(
            Table(f"scores-{setting + 1}", f"Scores on {name}", heads, kept, _note(scores, setting, conclusions))
        )
    return tables


def across_table(scores: Scores, conclusions: Conclusions) -> Table | None:
    """The DSC on every data set and model side by side, as a paper's main table; None where there is one."""
    if len(scores.settings) < 2:
        return None
    dsc, settings = METRICS["dsc"], range(len(scores.settings))
    means = overall_means(scores, dsc.name)
    arms = [arm for arm in range(len(scores.arm_names)) if any((at, arm) in means for at in settings)]
    rows: list[list[Cell]] = [[Cell(scores.arm_names[arm])] for arm in arms]
    for setting in settings:
        ticks = [conclusions.tick(scores.settings[setting], scores.arm_names[arm], dsc.name) for arm in arms]
        _add_column(rows, [means.get((setting, arm)) for arm in arms], scale=dsc.scale, better=dsc.better, ticks=ticks)
    overall: list[Mean | None] = []
    for arm in arms:
        found = [means[setting, arm].mean for setting in settings if (setting, arm) in means]
        overall.append(Mean(float(np.mean(found)), None, 1) if len(found) == len(settings) else None)
    _add_scores(rows, overall, dsc)
    note = (
        f"Mean ± standard deviation over seeds. The last column is the mean of the others, for each {scores.what} that "
        f"has all of them. Bold is the best, underlined the second.{conclusions.tick_note(dsc.name)}"
    )
    heads = [scores.what, *scores.settings, "mean"]
    return Table("scores-all", f"{dsc.head} on every data set and model", heads, rows, note)


def class_tables(scores: Scores, sizes: TrueSizes) -> list[Table]:
    """Per data set with several classes: DSC and pooled IoU of every class, their mean, and the mean region size."""
    tables = []
    for setting, name in enumerate(scores.settings):
        all_ids = scores.class_ids(setting)
        ids = all_ids[:MANY_CLASSES]
        if len(ids) < 2:
            continue
        for metric, pooled in (("dsc", ""), ("iou", POOLED)):
            by_class, overall = class_means(scores, metric + pooled), overall_means(scores, metric + pooled)
            arms = [arm for arm in range(len(scores.arm_names)) if (setting, arm) in overall]
            rows: list[list[Cell]] = [[Cell(scores.arm_names[arm])] for arm in arms]
            for class_id in ids:
                found = [by_class.get((setting, arm, class_id)) for arm in arms]
                _add_scores(rows, found, METRICS[metric], spread=len(ids) <= SPREAD_CLASSES)
            _add_scores(rows, [overall[setting, arm] for arm in arms], METRICS[metric])
            note = "Intersection and union summed over all cases before dividing, as Cityscapes has it."
            if not pooled:
                note = "Mean over cases and seeds."
            if len(sizes.true):
                proportions = _proportions(sizes, setting, ids)
                rows.insert(0, [Cell("mean region proportion (%)", "fixed"), *proportions, Cell("")])
                note = f"The first row is the mean share of the image that the class covers. {note}"
            if len(all_ids) > MANY_CLASSES:
                note += f" The first {MANY_CLASSES} of {len(all_ids)} classes; the mean is over all."
            title = f"{'pooled ' if pooled else ''}{METRICS[metric].head} of each class on {name}"
            heads = [scores.what, *(scores.class_name(setting, one) for one in ids), "mean"]
            tables.append(Table(f"classes-{setting + 1}-{metric}{pooled}", title, heads, rows, note))
    return tables


def _proportions(sizes: TrueSizes, setting: int, ids: Sequence[int]) -> list[Cell]:
    """Of each class: the mean over cases of its true share, empty targets as 0."""
    cells = []
    for class_id in ids:
        mine = sizes.of(setting, class_id)
        truths = group_means([sizes.part.case[mine]], sizes.true[mine])[1]
        mean = float(truths.mean()) if len(truths) else None
        cells.append(Cell("–" if mean is None else f"{100 * mean:.3g}", mean))
    return cells


def _add_scores(rows: list[list[Cell]], found: Sequence[Mean | None], metric: Metric, *, spread: bool = True) -> None:
    _add_column(rows, found, scale=metric.scale, better=metric.better, spread=spread)


def _add_column(
    rows: list[list[Cell]],
    found: Sequence[Mean | None],
    *,
    scale: float,
    better: str,
    spread: bool = True,
    ticks: Sequence[str] = (),
) -> None:
    shown = [None if mean is None else round(scale * mean.mean, 2) for mean in found]
    marks = ranked(shown, higher=better == "higher") if better else [""] * len(shown)
    for row, mean, value, mark, tick in zip(rows, found, shown, marks, ticks or [""] * len(rows), strict=True):
        if mean is None:
            row.append(Cell("–"))
            continue
        one = mean if spread else Mean(mean.mean, None, mean.seeds)
        row.append(Cell(f"{one.text(scale=scale)} {tick}".rstrip(), value, mark))  # type: ignore[arg-type]


def _note(scores: Scores, setting: int, conclusions: Conclusions) -> str:
    part = scores.of("dsc")
    mine = part.setting == setting
    cases, seeds = len(np.unique(part.case[mine])), len(np.unique(part.seed[mine]))
    spread = f"mean ± standard deviation over {seeds} seeds" if seeds > 1 else "one seed"
    compared = conclusions.arranged[0].metric.name if conclusions.arranged else ""
    return (
        f"{cases} cases, {spread}; mean over cases, then classes. Bold is the best, underlined the second, which does "
        f"not mean that the difference can be shown: see the ranking.{conclusions.tick_note(compared)}"
    )
