"""The flags of a study that trains as a run did say all of it: read again, they are that run's settings."""

import pytest

from sizewise.cli.run_flags import protocol_flags
from sizewise.train.config import RunConfig
from sizewise.train.recipes import RECIPES
from sizewise.train.setting_words import run_settings


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"size": (), "ignore_index": 0, "learning_rate": 3e-5, "groups": r"patient\d+", "folds": 5},
        {"data_name": "folder", "merge": True, "modality": ("T1", "T2"), "background": "none", "split": "s.csv"},
        {"spacing": (1.5, 1.5, 2.0), "patch": (32, 64, 64), "deep_supervision": True, "epochs": 3, "clip_norm": 0.0},
    ],
)
@pytest.mark.parametrize("recipe", ["picture", "volume"])
def test_read_again(recipe, changed):
    config = RunConfig("d", recipe=recipe, **(RECIPES[recipe] | changed))
    words = iter(protocol_flags(config))
    given = {}
    for flag in words:
        name = {"--name": "data_name"}.get(flag, flag[2:].replace("-", "_"))
        given[name] = True if name in ("merge", "deep_supervision") else next(words)
    assert RunConfig("d", **(RECIPES[recipe] | run_settings(given))) == config
