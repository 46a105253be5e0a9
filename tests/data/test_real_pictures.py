"""Kvasir-SEG and IDRiD themselves, where they are at hand: SIZEWISE_DATA, or ../shared/data beside the checkout."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sizewise.data.recognise import open_dataset

DATA = Path(os.environ.get("SIZEWISE_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


def real(name):
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not in {DATA}; set SIZEWISE_DATA to the folder that holds it")
    return open_dataset(DATA / name)


def test_kvasir_seg():
    dataset = real("kvasir-seg")
    assert dataset.name == "kvasir-seg"
    assert Counter(case.subset for case in dataset.cases) == {"train": 800, "validation": 100, "test": 100}
    shares = [dataset.reader.target(case).mean() for case in dataset.cases[::10]]
    assert np.mean(shares) == pytest.approx(0.153, abs=0.03)  # over all 1,000: 0.153


def test_kvasir_seg_as_any_folder_is_binary():
    dataset = real("kvasir-seg")
    plain = open_dataset(DATA / "kvasir-seg" / "validation", name="folder")
    assert plain.classes == ("background", "foreground")
    validation = [case for case in dataset.cases if case.subset == "validation"]
    assert len(plain.cases) == len(validation) == 100
    np.testing.assert_array_equal(plain.reader.target(plain.cases[7]), dataset.reader.target(validation[7]))


def test_idrid():
    dataset = real("idrid")
    assert Counter(case.subset for case in dataset.cases) == {"train": 54, "test": 27}
    assert dataset.activation == "sigmoid"
    case = dataset.cases[0]
    assert [path is None for path in case.target] == [False, False, False, True, False]
    target = dataset.reader.target(case)
    assert target.shape == (5, 2848, 4288)
    assert 0.01 < target[4].mean() < 0.03  # the optic disc: 0.018 on average
    assert target.max() == 1
