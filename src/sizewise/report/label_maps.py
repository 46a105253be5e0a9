"""A study folder from label maps that came from elsewhere, so that they get the same report."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sizewise.errors import BadInput
from sizewise.metrics.evaluate import evaluate_folders
from sizewise.metrics.table import Row, RunColumns, write_cases
from sizewise.report.write import write_text


def write_label_map_study(
    out: Path,
    predictions: Mapping[str, Path],
    target: Path,
    *,
    nsd_tolerance: float = 1.0,
    classes: Sequence[int] | None = None,
    ignore_index: int | None = None,
    spacing: Sequence[float] = (1.0, 1.0),
    jobs: int | None = None,
) -> Path:
    """Score every folder of predictions and write ``study.json`` and ``results.csv``; returns ``out``.

    Each name stands where a loss would. Classes that only some folders hold are scored in all: a model that never
    predicts a class is not spared its misses.

    Args:
        out: a new folder, or one that holds such a report.
        predictions: folders by name.
        target: the folder of true label maps.
        nsd_tolerance: mm (pixels, for pictures without a spacing) by which a surface may be off.
        classes: the ids to score; None: all but 0.
        ignore_index: target pixels with this value count for nothing.
        spacing: mm between rows and columns of pictures.
        jobs: processes; None: one per core.
    """
    _refuse_other_study(out)
    options = {"nsd_tolerance": nsd_tolerance, "ignore_index": ignore_index, "spacing": spacing, "jobs": jobs}
    rows: dict[str, tuple[Row, ...]] = {}
    for name, folder in predictions.items():
        rows[name] = evaluate_folders(folder, target, classes=classes, **options).rows  # type: ignore[arg-type]
    found = sorted({row.class_id for of_name in rows.values() for row in of_name})
    for name, of_name in rows.items():
        if sorted({row.class_id for row in of_name}) != found:
            rows[name] = evaluate_folders(predictions[name], target, classes=found, **options).rows  # type: ignore[arg-type]
    named = [replace(row, of=RunColumns(run=name, loss=name)) for name, of_name in rows.items() for row in of_name]
    words = ["sizewise", "report"]
    for name, folder in predictions.items():
        words += ["--pred", f"{name}={folder}"]
    words += ["--target", str(target), "--out", str(out)]
    if nsd_tolerance != 1.0:
        words += ["--nsd-tolerance", str(nsd_tolerance)]
    if classes is not None:
        words += ["--classes", ",".join(map(str, classes))]
    if ignore_index is not None:
        words += ["--ignore-index", str(ignore_index)]
    if tuple(spacing) != (1.0, 1.0):
        words += ["--spacing", ",".join(map(str, spacing))]
    study = {
        "name": f"{', '.join(predictions)} against {target.name or target}",
        "source": "label maps",
        "predictions": {name: str(folder) for name, folder in predictions.items()},
        "target": str(target),
        "reference": next(iter(predictions)),
        "nsd_tolerance": nsd_tolerance,
        "commands": [shlex.join(words)],
    }
    write_cases(out / "results.csv", named)
    write_text(out / "study.json", json.dumps(study, indent=1, ensure_ascii=False))
    return out


def _refuse_other_study(out: Path) -> None:
    """The results of trained runs are not overwritten by those of label maps."""
    path = out / "study.json"
    if not path.exists():
        if (out / "results.csv").exists():
            raise BadInput(f"report: '{out}' holds a results.csv that is not of this report. Name another --out.")
        return
    try:
        source = json.loads(path.read_text(encoding="utf-8")).get("source")
    except (OSError, ValueError, AttributeError):
        source = None
    if source != "label maps":
        raise BadInput(f"report: '{out}' holds a study of trained runs and is not overwritten. Name another --out.")
