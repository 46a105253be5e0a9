"""The built-in data are hard enough that losses differ, and not hopeless."""

import pytest
from sampling import EXHAUSTIVE
from train.tiny_runs import CPU

from sizewise.metrics.cases_csv import read_cases
from sizewise.metrics.class_summary import summarise
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training


@pytest.mark.skipif(not EXHAUSTIVE, reason="half a minute on a quiet core: with SIZEWISE_EXHAUSTIVE=1")
def test_cross_entropy_finds_most_of_the_smallest_class_with_the_demos_recipe(tmp_path):
    run = resolve({"data": "synthetic", "loss": "CE"})
    assert run.config.recipe == "demo"
    run_training(run, folder=tmp_path / "run", runtime=CPU, log=lambda line: None)
    lesion = summarise(read_cases(tmp_path / "run" / "cases.csv"))[-1]
    assert run.dataset.classes[lesion.class_id] == "lesion"
    assert 0.4 < lesion.means["dsc"] < 0.9
