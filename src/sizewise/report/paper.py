"""The paper's own figures beside ours, where the data set is one of the paper's."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from sizewise.metrics.arms import Arm
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.metrics.registry import METRICS
from sizewise.report.formatted_table import Cell, Table, ranked
from sizewise.report.means import Mean, class_means, overall_means
from sizewise.report.scores import Scores

ALIASES = {"RCE": "RCE-L1", "RFL": "RFL-L1"}
CLASS_ALIASES = {"cancer": "tumor", "tumour": "tumor", "arota": "aorta"}  # as the data sets' own dataset.json has them
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
    """Columns: class by class, the mean first, the paper's numbers of each network and then ours of each model."""
    classes = sorted(dict.fromkeys(entry["class"] for entry in entries), key=lambda name: name != "mean")
    kinds = {metric: "mean over cases", f"{metric}_pooled": "pooled"}
    found = {words: (overall_means(scores, kind), class_means(scores, kind)) for kind, words in kinds.items()}
    ours = {one: _our_columns(scores, data, found, one) for one in classes}
    at_hand = {at for of_class in ours.values() for values in of_class.values() for at in values}
    if not at_hand:
        return None
    in_study = [name for at, name in enumerate(scores.arm_names) if at in at_hand]
    canonical = {name: paper_loss(arm) for name, arm in zip(scores.arm_names, scores.arms, strict=True)}
    in_paper = dict.fromkeys(loss for entry in entries for loss in entry["values"])
    names = [*in_study, *(loss for loss in in_paper if loss not in {canonical[name] for name in in_study})]
    columns: list[str] = ["loss"]
    cells: list[list[Cell]] = [[Cell(name)] for name in names]
    for one in classes:
        of_class = "" if one == "mean" else f", {one}"
        for entry in (entry for entry in entries if entry["class"] == one):
            columns.append(f"paper: {entry['network']}{of_class}")
            printed = [entry["values"].get(canonical.get(name, name)) for name in names]
            texts = ["–" if v is None else " ± ".join(f"{number:.1f}" for number in v) for v in printed]
            _add(cells, texts, [None if v is None else v[0] for v in printed])
        for label, values in ours[one].items():
            columns.append(f"{label}{of_class}")
            mine = [values.get(list(scores.arm_names).index(name)) if name in in_study else None for name in names]
            texts = ["–" if mean is None else mean.text(scale=100, digits=1) for mean in mine]
            _add(cells, texts, [None if mean is None else 100 * mean.mean for mean in mine])
    sources = ", ".join(dict.fromkeys(entry["table"] for entry in entries))
    title = f"{data}: {METRICS[metric].head} beside {sources} of the paper"
    return Table(f"paper-{data}-{metric}", title, columns, cells)


def paper_loss(arm: Arm) -> str:
    """What the paper's tables call an arm's loss; empty with another τ or decision than the paper's.

    >>> paper_loss(Arm("RCE")), paper_loss(Arm("RCE", temperature="10")), paper_loss(Arm("RCE", temperature="1"))
    ('RCE-L1', 'RCE-L1', '')
    """
    as_in_paper = arm.temperature in ("", "10") and arm.decision in ("", ARGMAX)
    return ALIASES.get(arm.loss, arm.loss) if as_in_paper else ""


def paper_class(name: str) -> str:
    """What the paper's tables call a class.

    >>> paper_class("Cancer"), paper_class("liver")
    ('tumor', 'liver')
    """
    return CLASS_ALIASES.get(name.lower(), name.lower())


def _add(rows: list[list[Cell]], texts: list[str], values: list[float | None]) -> None:
    for row, text, value, mark in zip(rows, texts, values, ranked(values, digits=1), strict=True):
        row.append(Cell(text, value, mark))


def _our_columns(
    scores: Scores, data: str, means: dict[str, tuple[dict, dict]], wanted: str
) -> dict[str, dict[int, Mean]]:
    """By column, the mean of each arm: ``means`` are those over all classes and those by class, of each kind."""
    columns: dict[str, dict[int, Mean]] = {}
    for setting, (name, model) in enumerate(scores.labels.settings):
        if name != data:
            continue
        ids = [i for i in scores.class_ids(setting) if paper_class(scores.class_name(setting, i)) == wanted.lower()]
        for words, (overall, by_class) in means.items():
            if wanted == "mean":
                found = {arm: mean for (at, arm), mean in overall.items() if at == setting}
            else:
                found = {arm: mean for (at, arm, i), mean in by_class.items() if at == setting and i in ids}
            if found:
                columns[f"ours: {model or 'model'}, {words}"] = found
    return columns
