"""Arms: read from a table's columns, and named so that no two are called alike."""

import itertools

import pytest

from sizewise.metrics.arms import Arm, arm_of, loss_cell, name_arms
from sizewise.metrics.cases_csv import RunColumns


def test_lambda_is_named_for_every_arm_of_a_loss_that_has_several():
    arms = [Arm("CE"), Arm("RCE", "0.1", "1"), Arm("RCE", "1", "10"), Arm("DiceCE", "0.1")]
    assert name_arms(arms) == ["CE", "RCE λ=0.1 τ=1", "RCE λ=1 τ=10", "DiceCE"]


def test_an_unknown_lambda_is_none():
    """A run that has not ended, with the loss's own λ, does not make the others' λ worth naming."""
    assert name_arms([Arm("RCE", "1"), Arm("RCE", "")]) == ["RCE", "RCE"]


def test_decisions_and_networks():
    arms = [Arm("CE", decision="argmax"), Arm("CE", decision="dice"), Arm("CE", decision="dice", model="fpn")]
    assert name_arms(arms) == ["CE", "CE (dice)", "CE (dice)"]  # one network is no difference
    assert name_arms([*arms, Arm("CE", model="unet")])[2:] == ["CE (dice) on fpn", "CE on unet"]


def test_different_arms_have_different_names():
    options = itertools.product(("CE", "RCE"), ("0.1", "1"), ("", "5"), ("argmax", "dice"), ("fpn", "unet"))
    arms = [Arm(*one) for one in options]
    assert len(set(name_arms(arms))) == len(arms)


@pytest.mark.parametrize("temperature", [None, 5.0, 0.5])
def test_a_temperature_survives_the_table(temperature):
    arm = arm_of(RunColumns(loss=loss_cell("RCE", temperature), weight="1", decision="argmax"))
    assert arm == Arm("RCE", "1", "" if temperature is None else f"{temperature:g}", "argmax")


def test_names_of_the_users_stay_whole():
    assert arm_of(RunColumns(loss="mine τ=high")).loss == "mine τ=high"
    assert arm_of(RunColumns(run="nnU-Net")) == Arm("nnU-Net")
    assert arm_of(RunColumns()).loss == "predictions"
