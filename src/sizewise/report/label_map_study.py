"""A study folder from label maps that came from elsewhere, so that they get the same report."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sizewise.data.case_groups import groups_by
from sizewise.data.names_beside import names_beside
from sizewise.errors import BadInput
from sizewise.evaluate.folders import Evaluation, evaluate_folders
from sizewise.files import write_whole
from sizewise.json_files import read_json
from sizewise.metrics.cases_csv import POOLED_CASE, RunColumns, write_complete
from sizewise.outside_names import check_name
from sizewise.report.label_map_pictures import save_pictures

Key = tuple[str, int]  # the name of a model, and which of its training runs

LABEL_MAPS = "label maps"  # what study.json calls such a study's source


@dataclass(frozen=True)
class Scoring:
    """How label maps are scored; the arguments of ``evaluate_folders``."""

    nsd_tolerance: float = 1.0
    classes: Sequence[int] | None = None
    ignore_index: int | None = None
    spacing: Sequence[float] = (1.0, 1.0)
    jobs: int | None = None
    background: str = "0"
    regions: Sequence[Sequence[int]] = ()
    cases: str = "all"
    names: Collection[str] | None = None

    def evaluate(self, predictions: Path, targets: Path) -> Evaluation:
        """The scores of one folder."""
        return evaluate_folders(predictions, targets, **vars(self))


def write_label_map_study(
    out: Path,
    predictions: Mapping[str, Sequence[Path]],
    targets: Path,
    *,
    scoring: Scoring | None = None,
    reference: str = "",
    groups: str = "",
    command: str = "",
    images: Path | None = None,
) -> Path:
    """Score every folder of predictions and write ``study.json`` and ``results.csv``; returns ``out``.

    Each name stands where a loss would, and its folders where seeds would. Classes that only some folders hold are
    scored in all: a model that never predicts a class is not spared its misses.

    Args:
        out: a new folder, or one that holds such a report.
        predictions: the folders of each model, one per training run.
        targets: the folder of true label maps.
        scoring: how.
        reference: the model that the others are compared with; empty: the first.
        groups: a pattern, or a CSV, that gives each case its group; groups are then what the statistics resample.
        command: the command line, for the report.
        images: the folder of the images, for pictures of cases; None: the report has none.
    """
    for name in predictions:
        check_name(name, what="report: the model")
    _refuse_other_study(out)
    if reference and reference not in predictions:
        raise BadInput(f"report: the reference must be one of {', '.join(predictions)}, got '{reference}'.")
    scoring = scoring or Scoring()
    folders = {(name, seed): folder for name, several in predictions.items() for seed, folder in enumerate(several)}
    scored = score_alike(folders, targets, scoring)
    rows = {key: one.rows for key, one in scored.items()}
    repeated = len(folders) > len(predictions)
    named = [replace(row, of=_columns(*key, repeated=repeated)) for key, of_run in rows.items() for row in of_run]
    cases = {row.case for row in named if row.case != POOLED_CASE}
    together = {"": groups_by(groups, cases)} if groups else {}
    study = {
        "name": f"{', '.join(predictions)} against {targets.name or targets}",
        "source": LABEL_MAPS,
        "predictions": {name: ", ".join(map(str, several)) for name, several in predictions.items()},
        "target": str(targets),
        "reference": reference or next(iter(predictions)),
        "nsd_tolerance": scoring.nsd_tolerance,
        "length_unit": next(iter(scored.values())).length_unit,
        "class_names": names_beside(targets, regions=tuple(map(tuple, scoring.regions))),
        "commands": [command] if command else [],
    }
    write_complete(out / "results.csv", named)
    if images is not None:
        flat = () if scoring.regions else scoring.classes
        how = {"classes": flat or None, "ignore_index": scoring.ignore_index}
        save_pictures(out, predictions, targets, images, cases=sorted(cases), **how)  # type: ignore[arg-type]
    write_whole(out / "groups.json", json.dumps(together, ensure_ascii=False))
    write_whole(out / "study.json", json.dumps(study, indent=1, ensure_ascii=False))
    return out


def score_alike(folders: Mapping[Key, Path], targets: Path, scoring: Scoring) -> dict[Key, Evaluation]:
    """The scores of each folder, all of the same cases, and of the classes that any folder, or the truth, holds."""
    done = {key: scoring.evaluate(folder, targets) for key, folder in folders.items()}
    cases = [{row.case for row in one.rows} - {POOLED_CASE} for one in done.values()]
    common = set.intersection(*cases)
    if not common:
        raise BadInput("report: the folders of predictions have no case in common, so nothing can be compared.")
    if any(mine != common for mine in cases):
        scoring = replace(scoring, names=frozenset(common))
        done = {key: scoring.evaluate(folder, targets) for key, folder in folders.items()}
    found = sorted({row.class_id for one in done.values() for row in one.rows})
    for key, one in done.items():
        if sorted({row.class_id for row in one.rows}) != found:
            done[key] = replace(scoring, classes=found).evaluate(folders[key], targets)
    return done


def _columns(name: str, seed: int, *, repeated: bool) -> RunColumns:
    return RunColumns(run=f"{name} {seed}", loss=name, seed=str(seed)) if repeated else RunColumns(run=name, loss=name)


def _refuse_other_study(out: Path) -> None:
    """The results of trained runs are not overwritten by those of label maps."""
    path = out / "study.json"
    if (out / "config.json").exists():
        raise BadInput(f"report: '{out}' is the folder of a training run. Name another `out`.")
    if not path.exists():
        if (out / "results.csv").exists():
            raise BadInput(f"report: '{out}' holds a results.csv that is not of this report. Name another `out`.")
        return
    try:
        source = read_json(path).get("source")
    except BadInput:
        source = None
    if source != LABEL_MAPS:
        raise BadInput(f"report: '{out}' holds a study of trained runs and is not overwritten. Name another `out`.")
