"""The committed tables: the scores of every run, and how each did on its validation cases.

``results/SET.csv.xz`` has the scores of ``results.csv`` with the metrics that the page uses and four digits: a line for
each run, decision, class and metric, a column for each case: less than half as large as one line for each score.
``results/SET-runs.csv`` has one line for each run.
"""

import csv
import io
import json
import lzma
import os
from pathlib import Path

from sizewise.files import write_whole
from sizewise.metrics.cases_csv import COLUMNS, table_lines
from sizewise.train.history import read_history
from sizewise.train.run_folder import is_finished

RESULTS = Path(__file__).parent / "results"
METRICS = ("dsc", "iou", "iou_pooled", "nsd", "size_error", "true_proportion")
SIDES = ("component_recall", "component_precision")
COMPONENTS = tuple(side + third for side in SIDES for third in ("", "_small", "_medium", "_large"))
MANY_OBJECTS = ("dsb2018", "idrid", "drive")
# temperature makes the validation cases' probabilities fit; at the other one dice was decided
TEMPERATURES = ("temperature", "decided_at")
SHARED = tuple(column for column in COLUMNS if column not in ("case", "value"))  # by the scores of a line
NO_SCORE = "-"  # of a case that has no such line; an empty cell is a score without a value
RUN_HEAD = ("loss", "seed", "validation_dsc", "epoch", "steps", "train_seconds", *TEMPERATURES, "settings", "machine")


def scores_file(name: str) -> Path:
    """Where the scores of a set are."""
    return RESULTS / f"{name}.csv.xz"


def read_scores(name: str) -> list[tuple[str, ...]]:
    """The lines of ``results.csv``, one for each score."""
    path = scores_file(name)
    if not path.exists():
        return []
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    cases, kept = head[len(SHARED) :], []
    for line in lines:
        of = dict(zip(SHARED, line, strict=False))
        for case, value in zip(cases, line[len(SHARED) :], strict=True):
            if value != NO_SCORE:
                kept.append(tuple((of | {"case": case, "value": value})[column] for column in COLUMNS))
    return sorted(kept)


def read_runs(name: str) -> list[dict[str, str]]:
    """One line for each run."""
    path = RESULTS / f"{name}-runs.csv"
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def finished(name: str) -> set[tuple[str, str]]:
    """Loss and seed of the runs whose scores are in the table."""
    return {(run["loss"], run["seed"]) for run in read_runs(name)}


def add_runs(name: str, folders: list[Path]) -> int:
    """Add the runs of these folders that are finished and not in the tables; how many those were."""
    scores, runs, known, added = read_scores(name), read_runs(name), finished(name), 0
    metrics = METRICS + (COMPONENTS if name in MANY_OBJECTS else ())
    for folder in folders:
        if not is_finished(folder):
            continue
        lines = [tuple(cells) for _, cells in table_lines(folder / "cases.csv")]
        of = dict(zip(COLUMNS, lines[0], strict=True))
        key = (of["loss"], of["seed"])
        if key in known:
            continue
        scores += [rounded(cells) for cells in lines if cells[COLUMNS.index("metric")] in metrics]
        runs.append(dict(zip(RUN_HEAD, (*key, *summary(folder)), strict=True)))
        known.add(key)
        added += 1
    if added:
        write(name, scores, runs)
    return added


def rounded(cells: tuple[str, ...]) -> tuple[str, ...]:
    """A line without the run's name, which the other columns say, and with four digits."""
    row = dict(zip(COLUMNS, cells, strict=True))
    row["run"], row["data"] = "", Path(row["data"]).name
    row["value"] = f"{float(row['value']):.4g}" if row["value"] else ""
    return tuple(row[name] for name in COLUMNS)


def summary(folder: Path) -> tuple[str, ...]:
    """The best validation, and what the training took."""
    history = read_history(folder / "history.csv")
    best = max((row for row in history if "val_dsc" in row), key=lambda row: row["val_dsc"])
    seconds = sum(row["train_seconds"] for row in history)
    decision = folder / "decision.json"
    fitted = json.loads(decision.read_text()) if decision.exists() else {}
    steps = sum(row["steps"] for row in history)
    versions = json.loads((folder / "versions.json").read_text())
    kept = ("device", "torch", "monai", "segmentation-models-pytorch", "sizewise")
    machine = "; ".join(f"{name} {versions[name]}" for name in kept) + f"; commit {os.environ.get('COMMIT', 'unknown')}"
    return (
        f"{best['val_dsc']:.5f}",
        f"{best['epoch']:g}",
        f"{steps:g}",
        f"{seconds:.1f}",
        str(fitted.get("likelihood", "")),
        str(fitted.get("temperature", "")),
        versions["config_hash"],
        machine,
    )


def write(name: str, scores: list[tuple[str, ...]], runs: list[dict[str, str]]) -> None:
    """Both tables, sorted, so that the order of runs leaves no trace."""
    RESULTS.mkdir(exist_ok=True)
    case, value = COLUMNS.index("case"), COLUMNS.index("value")
    cases = sorted({cells[case] for cells in scores})
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for cells in scores:
        of = tuple(cells[COLUMNS.index(column)] for column in SHARED)
        lines.setdefault(of, {})[cells[case]] = cells[value]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*SHARED, *cases))
    writer.writerows((*of, *(lines[of].get(one, NO_SCORE) for one in cases)) for of in sorted(lines))
    write_whole(scores_file(name), lzma.compress(text.getvalue().encode()))
    with open(RESULTS / f"{name}-runs.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, RUN_HEAD, lineterminator="\n")
        table.writeheader()
        table.writerows(sorted(runs, key=lambda run: tuple(run.values())))
