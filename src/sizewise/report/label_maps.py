"""A study folder from label maps that came from elsewhere, so that they get the same report."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sizewise.errors import BadInput
from sizewise.evaluate.folders import evaluate_folders
from sizewise.files import write_whole
from sizewise.metrics.cases_csv import POOLED_CASE, Row, RunColumns, write_cases
from sizewise.report.case_groups import read_case_groups

LABEL_MAPS = "label maps"  # what study.json calls such a study's source


def write_label_map_study(
    out: Path,
    predictions: Mapping[str, Sequence[Path]],
    target: Path,
    *,
    reference: str = "",
    groups: Path | None = None,
    nsd_tolerance: float = 1.0,
    classes: Sequence[int] | None = None,
    ignore_index: int | None = None,
    spacing: Sequence[float] = (1.0, 1.0),
    jobs: int | None = None,
) -> Path:
    """Score every folder of predictions and write ``study.json`` and ``results.csv``; returns ``out``.

    Each name stands where a loss would, and its folders where seeds would. Classes that only some folders hold are
    scored in all: a model that never predicts a class is not spared its misses.

    Args:
        out: a new folder, or one that holds such a report.
        predictions: the folders of each model, one per training run.
        target: the folder of true label maps.
        reference: the model that the others are compared with; empty: the first.
        groups: a CSV with the patient of each case; patients are then what the statistics resample.
        nsd_tolerance: mm (pixels, for pictures without a spacing) by which a surface may be off.
        classes: the ids to score; None: all but 0.
        ignore_index: target pixels with this value count for nothing.
        spacing: mm between rows and columns of pictures.
        jobs: processes; None: one per core.
    """
    _refuse_other_study(out)
    options = {"nsd_tolerance": nsd_tolerance, "ignore_index": ignore_index, "spacing": spacing, "jobs": jobs}
    if reference and reference not in predictions:
        raise BadInput(f"report: the reference must be one of {', '.join(predictions)}, got '{reference}'.")
    rows: dict[tuple[str, int], tuple[Row, ...]] = {}
    places = {(name, seed): folder for name, of in predictions.items() for seed, folder in enumerate(of)}
    for key, folder in places.items():
        rows[key] = evaluate_folders(folder, target, classes=classes, **options).rows  # type: ignore[arg-type]
    found = sorted({row.class_id for of_run in rows.values() for row in of_run})
    for key, of_run in rows.items():
        if sorted({row.class_id for row in of_run}) != found:
            rows[key] = evaluate_folders(places[key], target, classes=found, **options).rows  # type: ignore[arg-type]
    of = {(name, seed): RunColumns(run=name, loss=name) for name, seed in places}
    if len(places) > len(predictions):
        of = {(name, seed): RunColumns(run=f"{name} {seed}", loss=name, seed=str(seed)) for name, seed in places}
    named = [replace(row, of=of[key]) for key, of_run in rows.items() for row in of_run]
    words = ["sizewise", "report"]
    for (name, _), folder in places.items():
        words += ["--pred", f"{name}={folder}"]
    words += ["--target", str(target), "--out", str(out)]
    if reference:
        words += ["--reference", reference]
    if groups is not None:
        words += ["--groups", str(groups)]
    if nsd_tolerance != 1.0:
        words += ["--nsd-tolerance", str(nsd_tolerance)]
    if classes is not None:
        words += ["--classes", ",".join(map(str, classes))]
    if ignore_index is not None:
        words += ["--ignore-index", str(ignore_index)]
    if tuple(spacing) != (1.0, 1.0):
        words += ["--spacing", ",".join(map(str, spacing))]
    cases = {row.case for row in named if row.case != POOLED_CASE}
    together = {"": read_case_groups(groups, cases)} if groups is not None else {}
    study = {
        "name": f"{', '.join(predictions)} against {target.name or target}",
        "source": LABEL_MAPS,
        "predictions": {name: ", ".join(map(str, folders)) for name, folders in predictions.items()},
        "target": str(target),
        "reference": reference or next(iter(predictions)),
        "nsd_tolerance": nsd_tolerance,
        "commands": [shlex.join(words)],
    }
    write_cases(out / "results.csv", named)
    write_whole(out / "groups.json", json.dumps(together, ensure_ascii=False))
    write_whole(out / "study.json", json.dumps(study, indent=1, ensure_ascii=False))
    return out


def _refuse_other_study(out: Path) -> None:
    """The results of trained runs are not overwritten by those of label maps."""
    path = out / "study.json"
    if not path.exists():
        if (out / "results.csv").exists():
            raise BadInput(f"report: '{out}' holds a results.csv that is not of this report. Name another `out`.")
        return
    try:
        source = json.loads(path.read_text(encoding="utf-8")).get("source")
    except (OSError, ValueError, AttributeError):
        source = None
    if source != LABEL_MAPS:
        raise BadInput(f"report: '{out}' holds a study of trained runs and is not overwritten. Name another `out`.")
