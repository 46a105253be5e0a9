"""Before training: what a study can show, from typical spreads or from the runs that are there, and in which words."""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from data.layouts.cvc_clinicdb import write_cvc_clinicdb
from data.layouts.idrid import write_idrid

from sizewise.data.cvc_clinicdb import FRAMES
from sizewise.study.compare import outlook
from sizewise.study.grid import plan_runs
from sizewise.study.outlook import TYPICAL, TYPICAL_SOURCE, Outlook, look_at_data
from sizewise.study.outlook_sentences import outlook_sentences
from sizewise.study.statistics.sample_size import power
from sizewise.study.study_words import parse_study
from sizewise.train import timed_steps
from sizewise.train.config import Runtime
from sizewise.train.resolve import resolve
from sizewise.train.timed_steps import time_steps

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cvc(tmp_path_factory):
    return write_cvc_clinicdb(tmp_path_factory.mktemp("cvc"), lengths=(FRAMES,), extension="png", size=(8, 8))


def study(data, **more):
    return parse_study({"data": str(data), "losses": "CE,Dice,RCE", "seeds": "3", "models": "monai-unet-small"} | more)


def said(found):
    return " ".join(outlook_sentences(found))


def test_typical_spreads_are_those_of_the_calibration():
    place = ROOT / "benchmarks" / "statistics_calibration.py"
    spec = importlib.util.spec_from_file_location("statistics_calibration", place)
    calibration = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(calibration)
    _, parts = calibration.truth(0.0)
    assert np.sqrt(TYPICAL) == pytest.approx(np.sqrt(parts), rel=0.01)


def test_what_is_smallest_is_shown_in_80_percent(cvc):
    (found,) = outlook(study("synthetic"), folder=Path("nowhere"))
    assert (found.cases, found.groups, found.arms, found.seeds, found.comparisons, found.runs) == (60, 60, 3, 3, 2, 9)
    chance = power(TYPICAL, found.smallest(), seeds=3, groups=60, level=0.05 / 2, arms=3)
    assert chance == pytest.approx(0.8)
    assert found.smallest(seeds=5) < found.smallest()
    assert found.smallest(groups=200) < found.smallest()


def test_sequences_are_the_units_and_folds_test_all_of_them(cvc):
    (one,) = outlook(study(cvc), folder=Path("nowhere"))
    assert (one.groups, one.all_groups) == (10, 29)
    assert "test cases of 10 groups; 3 losses × 3 seeds = 9 runs." in said(one)
    assert re.search(r"`seeds=5`: \d+\.\d DSC points; .*`folds=5`, which tests all 29 units: \d", said(one))
    (folded,) = outlook(study(cvc, settings=("folds=5",)), folder=Path("nowhere"))
    assert (folded.cases, folded.groups, folded.runs) == (FRAMES, 29, 45)
    assert "612 test cases of 29 groups over 5 folds; 3 losses × 3 seeds × 5 folds = 45 runs." in said(folded)
    assert folded.smallest() < one.smallest()


def test_the_runs_of_a_study_with_folds(cvc):
    runs = plan_runs(study(cvc, settings=("folds=5",), seeds="2"))
    assert len({run.name for run in runs}) == 2 * 5 * 3
    assert [run.config.fold for run in runs[:6]] == [0, 0, 0, 1, 1, 1]  # every loss on a fold, then the next fold
    tested = [
        name for run in runs if run.config.loss == "CE" and run.config.seed == 0 for name in run.run.task.split.test
    ]
    assert len(tested) == len(set(tested)) == FRAMES


def test_what_can_show_nothing_is_said_before(cvc):
    (found,) = outlook(study(cvc), folder=Path("nowhere"))
    few = replace(found, groups=4)
    assert few.smallest() is None
    assert "This can show nothing: 4 groups are too few for a verdict, which needs 10." in said(few)
    assert "`folds=5`, which tests all 29 units" in said(few)
    assert "no split of it can show more" in said(replace(few, all_groups=8))
    assert "one seed cannot separate a loss from luck. Give `seeds=3`" in said(replace(found, seeds=1))
    assert "compared with nothing" in said(replace(found, arms=1))


def test_hours_and_memory_are_those_of_the_finished_runs(cvc):
    (found,) = outlook(study(cvc), folder=Path("nowhere"))
    assert "A run takes" not in said(found)
    begun = replace(found, finished=3, run_seconds=600.0, memory_mib=2048.0)
    assert "9 runs, 3 of them finished." in said(begun)
    assert "A run takes 10:00, 2,048 MiB at most: 1:00:00 for the 6 runs that are left" in said(begun)


def test_a_data_set_by_itself():
    from sizewise.data.recognise import open_dataset
    from sizewise.data.split_options import SplitOptions, make_split

    dataset = open_dataset("synthetic")
    found = look_at_data(dataset, make_split(dataset, SplitOptions()).test)
    assert said(found).startswith("synthetic: 60 test cases; 4 losses × 3 seeds = 12 runs.")


def test_the_guide_shows_what_is_said():
    found = Outlook("cvc-clinicdb", "fpn-resnet50", 612, 29, 29, 3, 3, 5, 2, TYPICAL, TYPICAL_SOURCE, 45)
    guide = (ROOT / "docs" / "guides" / "compare-losses.md").read_text(encoding="utf-8")
    for sentence in outlook_sentences(found):
        assert re.sub(r"`seeds=(\d+)`", r"--seeds \1", sentence) in guide


def test_a_few_timed_steps_say_how_long_it_will_take():
    (found,) = outlook(
        study("synthetic", settings=("epochs=2", "steps_per_epoch=5", "batch_size=2")),
        folder=Path("nowhere"),
        timed_on=Runtime(accelerator="cpu"),
    )
    assert found.timed
    assert found.run_seconds > 0
    assert found.memory_mib > 50
    sentence = said(replace(found, run_seconds=90.0, memory_mib=1234.0))
    assert "By a few timed steps, the steps of a run take 1:30, 1,234 MiB at most: 13:30 for 9 runs" in sentence


def test_steps_are_timed_with_the_threads_that_the_run_gets(monkeypatch):
    seen = []
    pad = timed_steps.pad_to_multiple
    monkeypatch.setattr(
        timed_steps, "pad_to_multiple", lambda *given: seen.append(torch.get_num_threads()) or pad(*given)
    )
    before = torch.get_num_threads()
    run = resolve({"data": "synthetic", "batch_size": 1, "size": (32, 32)})
    time_steps(run, Runtime(accelerator="cpu", threads=before + 1))
    assert set(seen) == {before + 1}
    assert torch.get_num_threads() == before


def test_timed_steps_leave_the_run_as_it_was_and_fit_multi_label_volumes(tmp_path):
    for data, more in (("synthetic-3d", {}), (str(write_idrid(tmp_path / "idrid")), {"size": (32, 32)})):
        run = resolve({"data": data, "model": "monai-unet-small", "batch_size": 2, "epochs": 3, **more})
        before = {name: one.clone() for name, one in run.criterion.state_dict().items()}
        cost = time_steps(run, Runtime(accelerator="cpu"))
        per_epoch = -(-len(run.task.split.train) // 2)
        assert cost.steps == 3 * per_epoch
        assert cost.training_seconds == pytest.approx(cost.seconds * cost.steps)
        assert all(torch.equal(one, before[name]) for name, one in run.criterion.state_dict().items())
