"""The tables of scores: one per data set and model, with every metric; and one per class."""

import numpy as np

from sizewise.report.regions import Sizes
from sizewise.report.scores import Scores, group_means
from sizewise.report.summary import Mean, class_means, overall_means
from sizewise.report.table import Cell, Table, ranked

METRICS = (  # metric, head, whether it is a share, whether more is better, whether its sign is dropped
    ("dsc", "DSC (%)", True, True, False),
    ("iou", "IoU (%)", True, True, False),
    ("nsd", "NSD (%)", True, True, False),
    ("hd95", "HD95", False, False, False),
    ("dsc_pooled", "pooled DSC (%)", True, True, False),
    ("iou_pooled", "pooled IoU (%)", True, True, False),
    ("size_error", "|size error| (points)", True, False, True),
    ("size_error", "size bias (points)", True, None, False),
)
MANY_CLASSES = 40


def score_tables(scores: Scores) -> list[Table]:
    """Rows are losses; the note says over how many cases and seeds. What compares data sets comes first."""
    across = across_table(scores)
    tables = [across] if across else []
    for arena, name in enumerate(scores.arenas):
        columns = [scores.what]
        rows: list[list[Cell]] = [[Cell(entry)] for entry in scores.entries]
        present = [False] * len(scores.entries)
        for metric, head, share, higher, absolute in METRICS:
            means = overall_means(scores, metric, absolute=absolute)
            found = [means.get((arena, entry)) for entry in range(len(scores.entries))]
            if not any(found):
                continue
            columns.append(head)
            _add_column(rows, found, share=share, higher=higher)
            present = [before or mean is not None for before, mean in zip(present, found, strict=True)]
        kept = [row for row, keep in zip(rows, present, strict=True) if keep]
        tables.append(Table(f"scores-{arena + 1}", f"Scores on {name}", columns, kept, _note(scores, arena)))
    return tables


def across_table(scores: Scores) -> Table | None:
    """The DSC on every data set and model side by side, as a paper's main table; None where there is one."""
    if len(scores.arenas) < 2:
        return None
    means = overall_means(scores, "dsc")
    entries = [entry for entry in range(len(scores.entries)) if any((at, entry) in means for at in _arenas(scores))]
    rows: list[list[Cell]] = [[Cell(scores.entries[entry])] for entry in entries]
    for arena in _arenas(scores):
        _add_column(rows, [means.get((arena, entry)) for entry in entries], share=True, higher=True)
    overall: list[Mean | None] = []
    for entry in entries:
        found = [means[arena, entry].mean for arena in _arenas(scores) if (arena, entry) in means]
        overall.append(Mean(float(np.mean(found)), None, 1) if len(found) == len(scores.arenas) else None)
    _add_column(rows, overall, share=True, higher=True)
    note = (
        f"Mean ± standard deviation over seeds. The last column is the mean of the others, for each {scores.what} that "
        "has all of them. Bold is the best, underlined the second."
    )
    return Table("scores-all", "DSC (%) on every data set and model", [scores.what, *scores.arenas, "mean"], rows, note)


def _arenas(scores: Scores) -> range:
    return range(len(scores.arenas))


def class_tables(scores: Scores, sizes: Sizes) -> list[Table]:
    """Per data set with several classes: DSC and pooled IoU of every class, their mean, and the mean region size."""
    tables = []
    for arena, name in enumerate(scores.arenas):
        ids = scores.class_ids(arena)[:MANY_CLASSES]
        if len(ids) < 2:
            continue
        for metric, word in (("dsc", "DSC"), ("iou_pooled", "pooled IoU")):
            by_class, overall = class_means(scores, metric), overall_means(scores, metric)
            entries = [entry for entry in range(len(scores.entries)) if (arena, entry) in overall]
            rows: list[list[Cell]] = [[Cell(scores.entries[entry])] for entry in entries]
            for class_id in ids:
                found = [by_class.get((arena, entry, class_id)) for entry in entries]
                _add_column(rows, found, share=True, higher=True, spread=len(ids) <= 6)
            _add_column(rows, [overall[arena, entry] for entry in entries], share=True, higher=True)
            columns = [scores.what, *(scores.class_name(arena, one) for one in ids), "mean"]
            proportions = [Cell("mean region proportion (%)", "fixed"), *_proportions(sizes, arena, ids), Cell("")]
            note = "The first row is the mean share of the image that the class covers. Mean over cases and seeds."
            if metric == "iou_pooled":
                note = "Intersection and union summed over all cases before dividing, as Cityscapes has it."
            if len(scores.class_ids(arena)) > MANY_CLASSES:
                note += f" The first {MANY_CLASSES} of {len(scores.class_ids(arena))} classes; the mean is over all."
            title = f"{word} (%) of each class on {name}"
            tables.append(Table(f"classes-{arena + 1}-{metric}", title, columns, [proportions, *rows], note))
    return tables


def _proportions(sizes: Sizes, arena: int, ids: list[int]) -> list[Cell]:
    """Of each class: the mean over cases of its true share, empty targets as 0."""
    mine = sizes.part.arena == arena
    keys, truths, _ = group_means([sizes.part.class_id[mine], sizes.part.case[mine]], sizes.true[mine])
    cells = []
    for class_id in ids:
        values = truths[keys[0] == class_id]
        cells.append(
            Cell(f"{100 * values.mean():.3g}" if len(values) else "–", float(values.mean()) if len(values) else None)
        )
    return cells


def _add_column(
    rows: list[list[Cell]], found: list[Mean | None], *, share: bool, higher: bool | None, spread: bool = True
) -> None:
    scale = 100 if share else 1
    shown = [None if mean is None else round(scale * mean.mean, 2) for mean in found]
    marks = ["" for _ in found] if higher is None else ranked(shown, higher=higher)
    for row, mean, value, mark in zip(rows, found, shown, marks, strict=True):
        if mean is None:
            row.append(Cell("–"))
            continue
        one = mean if spread else Mean(mean.mean, None, mean.seeds)
        row.append(Cell(one.percent() if share else one.text(2), value, mark))  # type: ignore[arg-type]


def _note(scores: Scores, arena: int) -> str:
    part = scores.of("dsc")
    mine = part.arena == arena
    cases, seeds = len(np.unique(part.case[mine])), len(np.unique(part.seed[mine]))
    spread = f"mean ± standard deviation over {seeds} seeds" if seeds > 1 else "one seed"
    return (
        f"{cases} cases, {spread}; mean over cases, then classes. Bold is the best, underlined the second, which does "
        "not mean that the difference can be shown: see the comparisons."
    )
