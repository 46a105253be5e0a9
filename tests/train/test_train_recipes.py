"""The paper's protocols, number by number, and which data set gets which."""

import pytest
from data.layouts.decathlon_layout import write_pancreas
from data.layouts.kvasir_seg import write_kvasir_seg

from sizewise.errors import BadInput
from sizewise.train.config import RunConfig
from sizewise.train.recipes import recipe_settings
from sizewise.train.resolve import resolve


def chosen(data):
    return resolve({"data": str(data), "encoder_weights": "none"}).config.recipe


PROTOCOLS = {
    "polyp": {"optimizer": "adam", "learning_rate": 1e-4, "batch_size": 8, "epochs": 60, "schedule": "plateau", "patience": 5},
    "retinal": {"size": (512, 512), "merge": True, "activation": "sigmoid", "epochs": 60, "learning_rate": 1e-4},
    "paper-3d": {"optimizer": "sgd", "learning_rate": 0.01, "batch_size": 2, "epochs": 1000, "schedule": "poly", "minimum_learning_rate": 0.0},
    "cityscapes": {"size": (512, 1024), "optimizer": "sgd", "learning_rate": 0.01, "batch_size": 8, "epochs": 100, "schedule": "poly-step", "minimum_learning_rate": 1e-4},
}  # fmt: skip


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_papers_protocols(name):
    config = RunConfig(data="d", **recipe_settings(name))
    assert {setting: getattr(config, setting) for setting in PROTOCOLS[name]} == PROTOCOLS[name]


def test_data_sets_choose_their_recipe(tmp_path):
    found = {
        "kvasir": chosen(write_kvasir_seg(tmp_path / "k")),
        "pancreas": chosen(write_pancreas(tmp_path)),
        "synthetic": chosen("synthetic"),
        "synthetic-3d": chosen("synthetic-3d"),
    }
    assert found == {"kvasir": "polyp", "pancreas": "volume", "synthetic": "demo", "synthetic-3d": "demo-3d"}


def test_an_unknown_recipe():
    with pytest.raises(BadInput, match=r"`recipe` must be one of demo, .* got 'polyps'. Did you mean 'polyp'\?"):
        recipe_settings("polyps")
