"""A study with folds, from the command to the report: every case tested once, groups as units, spreads from its runs."""

import json

from data.layouts.named_folders import write_pictures

from sizewise.report.findings import read_findings
from sizewise.study.compare import compare, outlook
from sizewise.study.study_words import parse_study
from sizewise.train.config import Runtime

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
