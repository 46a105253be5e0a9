"""A study read from its folder, with its arms named once for all, and what the statistics conclude."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sizewise.metrics.arms import arm_of
from sizewise.report.conclusions import Conclusions, conclude
from sizewise.report.gallery import Pictured
from sizewise.report.label_map_pictures import pictured_models
from sizewise.report.label_map_study import LABEL_MAPS
from sizewise.report.saved import Run, decided_runs, read_groups, read_run, read_study_json, run_columns, run_folders
from sizewise.report.scores import Scores, label_results
from sizewise.report.true_sizes import TrueSizes, true_sizes
from sizewise.study.results import read_results


@dataclass(frozen=True)
class Findings:
    """All that figures and tables are made from.

    Attributes:
        study: what study.json holds.
        scores: the table of results.
        sizes: the true sizes in it.
        runs: the run folders.
        pictured: those with pictures, once for each decision that has some.
        conclusions: what the statistics say.
    """

    study: Mapping[str, Any]
    scores: Scores
    sizes: TrueSizes
    runs: Sequence[Run]
    pictured: Sequence[Pictured]
    conclusions: Conclusions


def read_findings(study: Path, *, reference: str = "", metric: str = "dsc") -> Findings:
    """Read a study, name its arms once for all, and conclude."""
    settings = read_study_json(study)
    folders = list(run_folders(study))
    waiting = [arm_of(run_columns(one)) for one in folders if not (one / "cases.csv").exists()]
    from_elsewhere = settings.get("source") == LABEL_MAPS
    scores = label_results(read_results(study / "results.csv"), from_elsewhere=from_elsewhere, also=waiting)
    runs = [read_run(one, name=scores.name_run) for one in folders]
    decided = [
        one
        for folder, run in zip(folders, runs, strict=True)
        for one in decided_runs(folder, run, name=scores.name_run, decisions=scores.decisions)
    ]
    name_classes_and_units(scores, runs, settings)
    usual = str(settings.get("reference", ""))
    conclusions = conclude(scores, reference=reference, usual=usual, groups=read_groups(study), metric=metric)
    pictured = pictured_models(study, scores) if from_elsewhere else [*runs, *decided]
    return Findings(settings, scores, true_sizes(scores), runs, pictured, conclusions)


def name_classes_and_units(scores: Scores, runs: Sequence[Run], study: Mapping[str, Any]) -> None:
    """Class names and units as the runs know them; a study of label maps may have them in study.json."""
    for setting, name in enumerate(scores.settings):
        named = {int(key): str(value) for key, value in dict(study.get("class_names", {})).items()}
        scores.length_units[setting] = "pixels" if study.get("length_unit") == "pixels" else "mm"
        for run in runs:
            if run.setting == name:
                named |= run.classes
                scores.length_units[setting] = run.length_unit
        scores.class_names.update({(setting, class_id): word for class_id, word in named.items()})
