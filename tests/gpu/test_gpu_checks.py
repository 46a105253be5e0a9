"""The checks that need a GPU, as far as none is needed: they can be imported, found by name, and take what they follow."""

from importlib import import_module
from pathlib import Path

import pytest
from gpu.checks import CHECKS
from gpu_check import chosen, within


def names(*given, device="cuda"):
    return [task.name for task in chosen(list(given), Path("unused"), device)]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_check_can_be_imported(check):
    pytest.importorskip("triton", minversion="3.4", reason="the kernels are written in Triton, 3.4 or later")
    assert callable(getattr(import_module(f"gpu.{check.module}"), check.name))


def test_no_two_have_a_name():
    assert len(set(names())) == len(names())
    assert set(names(device="cpu")) == set(names("training"))


def test_a_name_is_a_check_or_a_part_of_one_and_not_a_beginning():
    assert names("deciding/2", "same_bits") == ["same_bits", "deciding/2"]
    assert all(within(name, "deciding") for name in names("deciding"))
    with pytest.raises(SystemExit, match="There is no check decid here; --list names all of them"):
        names("same_bits", "decid")


def test_a_comparison_brings_the_runs_that_it_follows():
    runs = ["training/compiled/resumed", "training/compiled/whole", "training/average/eager"]
    assert set(names("training/compiled/same")) == {*runs, "training/compiled/same"}
