"""A study with folds, from the command to the report: every case tested once, groups as units, spreads from its runs."""

import json

import numpy as np
from data.layouts.cvc_clinicdb import write_cvc_clinicdb
from data.layouts.named_folders import write_pictures

from sizewise.data.cvc_clinicdb import FRAMES
from sizewise.metrics.cases_csv import Row, write_cases
from sizewise.report.conclusions import conclude
from sizewise.report.findings import read_findings
from sizewise.report.saved import read_groups
from sizewise.report.scores import label_results
from sizewise.study.compare import compare, outlook
from sizewise.study.grid import plan_runs
from sizewise.study.results import read_results
from sizewise.study.study_folder import open_study, write_groups, write_results
from sizewise.study.study_words import parse_study
from sizewise.train.config import Runtime
from sizewise.train.run_scores import run_columns


def test_cvc_clinicdb_is_compared_over_all_29_sequences(tmp_path):
    """The official layout, its runs as the command plans them, and made-up scores for the cases that each would test."""
    data = write_cvc_clinicdb(tmp_path / "cvc", lengths=(FRAMES,), extension="png", size=(8, 8))
    words = {"data": str(data), "losses": "CE,Dice,RCE", "seeds": "2", "models": "monai-unet-small"}
    config = parse_study(words | {"settings": ("folds=5",)})
    runs = plan_runs(config)
    folder = tmp_path / "study"
    open_study(folder, config, command="sizewise compare")
    rng = np.random.default_rng(0)
    for run in runs:
        of = run_columns(run.run)
        rows = [Row(of, case, 1, "dsc", float(rng.uniform(0.6, 0.9))) for case in run.run.task.split.test]
        (folder / "runs" / run.name).mkdir(parents=True)
        write_cases(folder / "runs" / run.name / "cases.csv", rows)
    write_results(folder, runs)
    write_groups(folder, runs)
    scores = label_results(read_results(folder / "results.csv"), from_elsewhere=False)
    (comparisons,) = conclude(scores, groups=read_groups(folder)).comparisons.values()
    assert [(one.seeds, one.cases, one.groups) for one in comparisons] == [(2, FRAMES, 29)] * 2


SETTINGS = ("epochs=1", "steps_per_epoch=1", "batch_size=2", "size=32x32", "folds=2", r"groups=p\d+")


def test_two_folds_of_patients(tmp_path):
    names = [f"p{patient:02d}_{slice_}" for patient in range(11) for slice_ in "ab"]
    data = write_pictures(tmp_path / "data", names, side=32)
    config = parse_study(
        {"data": str(data), "losses": "CE,Dice,RCE", "seeds": "2", "models": "monai-unet-small", "settings": SETTINGS}
    )
    folder = tmp_path / "study"
    outcome = compare(config, folder=folder, runtime=Runtime(accelerator="cpu"))
    assert not outcome.failed
    found = read_findings(folder)
    (comparisons,) = found.conclusions.comparisons.values()
    assert [(one.seeds, one.cases, one.groups, one.squares.arms) for one in comparisons] == [(2, 22, 11, 3)] * 2
    groups = json.loads((folder / "groups.json").read_text())["data"]
    assert groups["p03_a"] == groups["p03_b"] == "p03"
    (known,) = outlook(config, folder=folder)
    assert (known.finished, known.runs, known.groups) == (12, 12, 11)
    assert known.source == "the 12 runs that are finished"
    assert known.run_seconds is not None
