"""The flags of a study that trains as a run did say all of it: read again, they are that run's settings."""

import pytest
from data.layouts.image_folder import write_image_folder

import sizewise as sw
from sizewise.cli.run_flags import loss_word, protocol_flags
from sizewise.study.grid import loss_settings, plan_runs
from sizewise.study.study_words import parse_study
from sizewise.train.config import RunConfig
from sizewise.train.recipes import RECIPES
from sizewise.train.resolve import resolve
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
    assert RunConfig("d", **(RECIPES[recipe] | run_settings(read(config)))) == config


def read(config):
    """The settings that the flags say, by name."""
    words, given = iter(protocol_flags(config)), {}
    for flag in words:
        name = {"--name": "data_name"}.get(flag, flag[2:].replace("-", "_"))
        given[name] = True if name in ("merge", "deep_supervision") else next(words)
    return given


@pytest.mark.parametrize(
    ("data", "given"),
    [
        ("pictures", {"recipe": "picture", "size": (352, 352)}),  # of pictures that are not square
        ("synthetic-3d", {"recipe": "volume", "batch_size": 2, "augment": "volume"}),
        ("synthetic-3d", {"recipe": "volume", "patch": (64, 64, 16), "augment": "volume"}),
        ("synthetic-3d", {"recipe": "demo-3d", "learning_rate": 0.00123456789}),
    ],
)
def test_what_goes_by_the_data_is_as_the_run_had_it(tmp_path, data, given):
    """A value that is the recipe's own was left out, and the study found another in the data."""
    if data == "pictures":
        data = str(write_image_folder(tmp_path / "pictures"))
    ran = resolve({"data": data, "model": "monai-unet"} | given).config
    settings = tuple(f"{name}={value}" for name, value in read(ran).items())
    study = parse_study(
        {"data": data, "losses": loss_word(ran), "models": ran.model, "seeds": "1", "settings": settings}
    )
    assert ("spacing" in read(ran)) == bool(ran.patch)  # or volumes would be resampled that were not
    (planned,) = plan_runs(study)
    assert planned.config == ran


def test_a_loss_keeps_its_options():
    options = {"weight": 0.12345678, "loss_options": (("temperature", 5.0), ("classes", (1, 2)), ("scope", "batch"))}
    word = loss_word(RunConfig("d", loss="RCE-L1", **options))
    study = parse_study({"data": "d", "losses": f"CE,{word},Dice", "seeds": "1"})
    assert study.losses == ("CE", word, "Dice")
    assert [one["loss"] for one in loss_settings(study)] == ["CE", word, "Dice"]
    wanted = sw.loss("RCE-L1", weight=0.12345678, temperature=5.0, classes=(1, 2), scope="batch")
    assert repr(sw.loss(word)) == repr(wanted)
