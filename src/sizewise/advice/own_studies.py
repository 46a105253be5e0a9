"""Finished studies of the user's, as evidence beside the package's own."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from sizewise.advice.evidence_table import EvidenceSet
from sizewise.advice.features import features_of
from sizewise.advice.region_table import RegionTable
from sizewise.advice.set_scores import arm_scores
from sizewise.errors import BadInput
from sizewise.files import expanded
from sizewise.json_files import read_json
from sizewise.report.saved import Run, read_groups, read_run, read_study_json, run_columns, run_folders
from sizewise.study.results import Results, read_results
from sizewise.study.row_labels import label_rows

TRUE_SIZE = "true_proportion"


def read_studies(folders: Sequence[Path]) -> tuple[EvidenceSet, ...]:
    """The studies in these folders: each is one, or holds some. One that is named twice counts once.

    Raises:
        BadInput: a folder has no study, or one without a finished run.
    """
    studies = {study.resolve(): study for folder in folders for study in find_studies(folder)}
    return tuple(one for study in studies.values() for one in read_study_sets(study))


def find_studies(folder: Path) -> list[Path]:
    """The folder itself, or the studies in it."""
    folder = expanded(folder)
    if not folder.is_dir():
        raise BadInput(f"`evidence`: there is no folder '{folder}'. Wanted a study that `sizewise compare` made.")
    inside = (
        [folder] if (folder / "study.json").is_file() else sorted(path.parent for path in folder.glob("*/study.json"))
    )
    if not inside:
        raise BadInput(
            f"`evidence`: '{folder}' has no study: neither it nor a folder in it holds a study.json. Wanted what "
            "`sizewise compare` made."
        )
    return inside


def read_study_sets(study: Path) -> list[EvidenceSet]:
    """One for each data set and network of a study that tested a region. Its regions are those of the tested cases."""
    read_study_json(study)
    table = study / "results.csv"
    if not table.is_file():
        raise BadInput(
            f"`evidence`: the study '{study}' has no results.csv: none of its runs is finished. Finish it first."
        )
    results, groups = read_results(table), read_groups(study)
    folders = list(run_folders(study))
    runs = [(run_columns(folder), read_run(folder, name=lambda of: (of.data, of.loss))) for folder in folders]
    found = []
    for data, model in label_rows(results).settings:
        of_setting = [(of, run) for of, run in runs if (of.data, of.model) == (data, model) and run.finished]
        validation: dict[tuple[str, str], dict[str, float]] = {}
        for of, run in of_setting:
            if (best := _best_validation(run)) is not None:
                validation.setdefault((of.loss, of.weight), {})[of.seed] = best
        arms = arm_scores(results, data=data, model=model, groups=groups.get(data), validation=validation)
        shares = _true_sizes(results, data, model)
        if not shares.any():  # what was tested has no region, so it is like no data set
            continue
        regions = RegionTable(shares, _dimensions(study, [run for _, run in of_setting]))
        settings = of_setting[0][1].config if of_setting else {}
        found.append(
            EvidenceSet(
                name=data,
                features=features_of(regions),
                arms=arms,
                model=model,
                recipe=str(settings.get("recipe", "")),
                cases=len(regions.shares),
                steps=_middle([sum(row.get("steps", 0) for row in run.history) for _, run in of_setting], int),
                run_seconds=_middle(
                    [sum(row.get("seconds", 0) for row in run.history) for _, run in of_setting], float
                ),
                own=True,
            )
        )
    return found


def _true_sizes(results: Results, data: str, model: str) -> np.ndarray:
    """(cases, classes) true shares of what was tested, which every run has."""
    text = results.text
    rows = text["data"].rows_with(data) & text["model"].rows_with(model) & text["metric"].rows_with(TRUE_SIZE)
    rows &= np.isfinite(results.value)
    if not rows.any():
        raise BadInput(
            f"`evidence`: the results of '{data}' have no {TRUE_SIZE}: they are of an earlier version, and say nothing "
            "of region sizes."
        )
    cases, case_of = np.unique(text["case"].codes[rows], return_inverse=True)
    classes, class_of = np.unique(results.class_id[rows], return_inverse=True)
    shares = np.zeros((len(cases), len(classes)))
    shares[case_of, class_of] = results.value[rows]
    return shares


def _best_validation(run: Run) -> float | None:
    known = [row["val_dsc"] for row in run.history if "val_dsc" in row]
    return max(known, default=None)


def _dimensions(study: Path, runs: Sequence[Run]) -> int:
    """Of the images of these runs; 2 where none says so."""
    for run in runs:
        if (file := study / "runs" / run.name / "problem.json").is_file():
            return int(read_json(file).get("spatial_dims", 2))
    return 2


def _middle(values: Sequence[float], kind: Any) -> Any:
    known = [value for value in values if value]
    return kind(median(known)) if known else None
