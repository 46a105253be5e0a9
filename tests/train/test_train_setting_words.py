from pathlib import Path

import pytest

from sizewise.errors import BadInput
from sizewise.train.setting_words import run_settings


def test_words_become_settings():
    given = {
        "data": "d",
        "patch": "96X96x64",
        "spacing": "1,1,2.5",
        "classes_csv": Path("c.csv"),
        "modality": "T1, T2,",
    }
    assert run_settings(given | {"gamma": 1.0, "scope": "batch", "device": "cpu"}) == {
        "data": "d",
        "patch": (96, 96, 64),
        "spacing": (1.0, 1.0, 2.5),
        "classes_csv": "c.csv",
        "modality": ("T1", "T2"),
        "loss_options": (("gamma", 1.0), ("scope", "batch")),
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": "large"}, "`size` must be numbers as 352x352, or the word stored, got 'large'"),
        ({"patch": "96x"}, "`patch` must be numbers as 352x352"),
        ({"spacing": "1xx2"}, "`spacing` must be numbers as 1.5x1.5x2"),
        ({"schedule": "plato"}, "`schedule` must be one of constant, plateau, poly, poly-step, got 'plato'"),
    ],
)
def test_words_that_make_no_sense(given, message):
    with pytest.raises(BadInput, match=message):
        run_settings(given)
