"""The paper's own figures beside ours, where the data set is one of the paper's."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from sizewise.report.scores import Scores
from sizewise.report.summary import Mean, class_means, overall_means
from sizewise.report.table import Cell, Table, ranked

ALIASES = {"RCE": "RCE-L1", "RFL": "RFL-L1"}
WORDS = {"dsc": "DSC", "iou": "IoU", "nsd": "NSD"}
NOTE = (
    "Percent, as the paper prints them: mean ± standard deviation over three runs, copied from {source}. Ours: mean "
    "over cases, and pooled over all pixels of the cases (the paper's IoU is mostly DSC / (2 − DSC), as pooled counts "
    "give it). Splits, networks and training may differ from the paper's: the protocol below says what ours were."
)


@cache
def _content() -> dict[str, Any]:
    return json.loads(files("sizewise.report").joinpath("paper.json").read_text(encoding="utf-8"))


def paper_note() -> str:
    """What the numbers are, and where they come from."""
    return NOTE.format(source=_content()["source"])


def paper_name(data: str) -> str:
    """What the paper's tables call a data set; empty where it has none of it.

    >>> paper_name("kvasir-seg"), paper_name("Task07_Pancreas"), paper_name("synthetic")
    ('kvasir-seg', 'pancreas', '')
    """
    known = {entry["data"] for entry in _content()["entries"]}
    if data.lower() in known:
        return data.lower()
    task = data.lower().removeprefix("task").lstrip("0123456789").lstrip("_")
    return task if task in known and data.lower().startswith(("task", "dataset")) else ""


def paper_tables(scores: Scores) -> list[Table]:
    """One table per data set of the paper's that the study has: every loss of either."""
    tables = []
    for data in dict.fromkeys(scores.data):
        name = paper_name(data)
        entries = [entry for entry in _content()["entries"] if entry["data"] == name]
        for metric in dict.fromkeys(entry["metric"] for entry in entries):
            of_metric = [entry for entry in entries if entry["metric"] == metric]
            tables.append(_beside(scores, data, metric, of_metric))
    return [table for table in tables if table is not None]


def _beside(scores: Scores, data: str, metric: str, entries: list[dict[str, Any]]) -> Table | None:
    """Columns: the paper's numbers by network and class, and ours by model and class."""
    ours = _our_columns(scores, data, metric, [entry["class"] for entry in entries])
    if not ours:
        return None
    in_paper = list(dict.fromkeys(loss for entry in entries for loss in entry["values"]))
    in_study = [name for at, name in enumerate(scores.entries) if any(at in values for values in ours.values())]
    canonical = {name: ALIASES.get(scores.losses[at], scores.losses[at]) for at, name in enumerate(scores.entries)}
    names = [*in_study, *(loss for loss in in_paper if loss not in {canonical[name] for name in in_study})]
    columns: list[str] = ["loss"]
    cells: list[list[Cell]] = [[Cell(name)] for name in names]
    for entry in entries:
        columns.append(f"paper: {entry['network']}" + ("" if entry["class"] == "mean" else f", {entry['class']}"))
        found = [entry["values"].get(canonical.get(name, name)) for name in names]
        marks = ranked([None if v is None else v[0] for v in found])
        for row, value, mark in zip(cells, found, marks, strict=True):
            text = "–" if value is None else " ± ".join(f"{number:.1f}" for number in value)
            row.append(Cell(text, None if value is None else value[0], mark))
    for column, values in ours.items():
        columns.append(column)
        mine = [values.get(list(scores.entries).index(name)) if name in in_study else None for name in names]
        marks = ranked([None if mean is None else 100 * mean.mean for mean in mine])
        for row, mean, mark in zip(cells, mine, marks, strict=True):
            text = "–" if mean is None else mean.percent(1)
            row.append(Cell(text, None if mean is None else mean.mean, mark))
    sources = ", ".join(dict.fromkeys(entry["table"] for entry in entries))
    return Table(
        f"paper-{data}-{metric}",
        f"{data}: {WORDS.get(metric, metric)} (%) beside {sources} of the paper",
        columns,
        cells,
    )


def _our_columns(scores: Scores, data: str, metric: str, classes: list[str]) -> dict[str, dict[int, Mean]]:
    columns: dict[str, dict[int, Mean]] = {}
    for arena, (name, model) in enumerate(zip(scores.data, scores.models, strict=True)):
        if name != data:
            continue
        for kind, words in ((metric, "mean over cases"), (f"{metric}_pooled", "pooled")):
            over_all, by_class = overall_means(scores, kind), class_means(scores, kind)
            for wanted in dict.fromkeys(classes):
                if wanted == "mean":
                    found = {entry: mean for (at, entry), mean in over_all.items() if at == arena}
                else:
                    ids = [i for i in scores.class_ids(arena) if scores.class_name(arena, i).lower() == wanted.lower()]
                    found = {entry: mean for (at, entry, i), mean in by_class.items() if at == arena and i in ids}
                label = f"ours: {model or 'model'}, {words}" + ("" if wanted == "mean" else f", {wanted}")
                if found:
                    columns[label] = found
    return columns
