"""Formulas and code of the user's own in a study: parsed, trained, named in the tables."""

import csv

import pytest
from train.tiny_runs import CPU

from sizewise.errors import BadInput
from sizewise.report.build import assemble
from sizewise.report.markdown import report_markdown
from sizewise.study.compare import compare
from sizewise.study.engines.engine import make_engine
from sizewise.study.grid import plan_runs
from sizewise.study.study_words import parse_study

FORMULA = "CE + 0.5 * Tversky(alpha=0.3, beta=0.7)"
NET = """
import torch

def build(*, spatial_dims, in_channels, out_channels):
    kind = torch.nn.Conv2d if spatial_dims == 2 else torch.nn.Conv3d
    return kind(in_channels, out_channels, 3, padding=1)

build.size_multiple = 2

def nothing(**given):
    return 1
"""


def study(losses, **given):
    return parse_study(
        {"data": "synthetic", "losses": losses, "seeds": "1", "settings": ("epochs=1", "steps_per_epoch=1")} | given
    )


def test_commas_of_options_do_not_part_losses():
    assert study(f"CE, {FORMULA},RCE-KL").losses == ("CE", FORMULA, "RCE-KL")


def test_weights_and_options_go_to_named_losses_alone():
    runs = plan_runs(study(f"DiceCE,{FORMULA}", weights="0.1,1", temperatures="5"))
    assert [(run.config.loss, run.config.weight) for run in runs] == [("DiceCE", 0.1), ("DiceCE", 1.0), (FORMULA, None)]
    assert len({run.name for run in runs}) == 3
    assert all(len(run.name) < 150 and "/" not in run.name for run in runs)


def test_a_study_of_a_formula_and_a_network_of_one_s_own(tmp_path, monkeypatch):
    (tmp_path / "my_nets.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    config = study(f"CE,{FORMULA}", models="my_nets:build")
    outcome = compare(
        config, folder=tmp_path / "study", command="", runtime=CPU, engine=make_engine("local", {"jobs": 1})
    )
    assert not outcome.failed
    with (tmp_path / "study" / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["loss"], row["weight"], row["model"]) for row in rows} == {
        ("CE", "", "my_nets:build"),
        (FORMULA, "", "my_nets:build"),
    }
    shown = assemble(tmp_path / "study").page
    assert FORMULA in report_markdown(shown).replace("\\*", "*")
    for model, sentence in (("my_nets:nothing", "must return an nn.Module, got int"), ("my_nets:no", "has no no")):
        with pytest.raises(BadInput, match=sentence):
            plan_runs(study("CE", models=model))[0].run and _build(model)


def _build(model):
    from sizewise.models.build import build_model

    return build_model(model, spatial_dims=2, in_channels=1, out_channels=2)
