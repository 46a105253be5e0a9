"""The runs of a study: each loss with the options that it has, each with a name of its own."""

import pytest

from sizewise.errors import BadInput
from sizewise.study.grid import loss_settings, plan_runs
from sizewise.study.study_config import StudyConfig


def study(**options):
    return StudyConfig(**({"data": ("synthetic",), "losses": ("CE", "RCE"), "seeds": (0, 1)} | options))


def test_weights_and_temperatures_go_to_the_losses_that_have_them():
    found = loss_settings(study(losses=("CE", "DiceCE", "RCE"), weights=(0.1, 1.0), temperatures=(1.0, 10.0)))
    words = [(one["loss"], one.get("weight"), dict(one.get("loss_options", ())).get("temperature")) for one in found]
    assert words == [
        ("CE", None, None),
        ("DiceCE", 0.1, None),
        ("DiceCE", 1.0, None),
        ("RCE", 0.1, 1.0),
        ("RCE", 0.1, 10.0),
        ("RCE", 1.0, 1.0),
        ("RCE", 1.0, 10.0),
    ]


def test_an_option_of_losses_goes_to_those_that_have_it():
    runs = plan_runs(
        study(losses=("CE", "FL", "RCE"), seeds=(0,), settings=(("class_reduction", "mean"), ("gamma", 3.0)))
    )
    assert {run.config.loss: dict(run.config.loss_options) for run in runs} == {
        "CE": {},
        "FL": {"gamma": 3.0},
        "RCE": {"class_reduction": "mean"},
    }


def test_a_ramp_goes_to_the_losses_that_have_a_weight():
    losses = ("CE", "RCE", "CE + 0.3 * SizeL1", "2 * CE")
    runs = plan_runs(study(losses=losses, seeds=(0,), settings=(("ramp", "0.1:0.3"),)))
    assert [run.config.ramp for run in runs] == ["", "0.1:0.3", "0.1:0.3", ""]
    with pytest.raises(BadInput, match="none of these has one: CE, "):
        plan_runs(study(losses=("CE", "2 * CE"), settings=(("ramp", "0.1:0.3"),)))


def test_runs_go_seed_by_seed_with_unique_names_and_the_study_s_settings():
    runs = plan_runs(study(settings=(("epochs", 3), ("size", "32x32"))))
    assert [(run.config.seed, run.config.loss) for run in runs] == [(0, "CE"), (0, "RCE"), (1, "CE"), (1, "RCE")]
    assert len({run.name for run in runs}) == 4
    assert {(run.config.epochs, run.config.size) for run in runs} == {(3, (32, 32))}
    assert len({id(run.dataset) for run in runs}) == 1  # opened once


def test_a_run_has_the_name_that_it_would_have_alone():
    """What is shared between runs, as the patch of volumes, must not change their hash."""
    from sizewise.train.resolve import resolve

    run = plan_runs(study(data=("synthetic-3d",), seeds=(3,)))[1]
    alone = resolve({"data": "synthetic-3d", "loss": "RCE", "seed": 3}).config
    assert run.config == alone
    assert run.name.endswith(alone.hash)


def test_an_unknown_loss_or_model_is_said_before_anything_runs():
    with pytest.raises(BadInput, match=r"no loss 'RCEE'.*Did you mean 'RCE'"):
        plan_runs(study(losses=("CE", "RCEE")))
    with pytest.raises(BadInput, match="no model 'unett'"):
        plan_runs(study(models=("unett",)))


def test_groups_are_written_for_the_statistics(tmp_path):
    import json
    from dataclasses import replace

    from sizewise.study.study_folder import write_groups

    run = plan_runs(study(seeds=(0,)))[0]
    cases = (replace(run.dataset.cases[0], group="patient 7"), *run.dataset.cases[1:3])
    task = replace(run.run.task, dataset=replace(run.dataset, cases=cases))
    write_groups(tmp_path, [replace(run, run=replace(run.run, task=task))])
    assert json.loads((tmp_path / "groups.json").read_text()) == {"synthetic": {cases[0].name: "patient 7"}}
