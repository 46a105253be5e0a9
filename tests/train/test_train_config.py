import json
from dataclasses import replace

import pytest

from sizewise.errors import BadInput
from sizewise.train.config import LATER, RunConfig

PLAIN = RunConfig(data="synthetic")


def test_the_text_gives_the_settings_back():
    config = replace(PLAIN, size=(64, 32), spacing=(1.5, 2.0), loss_options=(("classes", (1, 2)), ("smooth", 0.5)))
    again = RunConfig.from_values(json.loads(config.to_json()))
    assert again == config
    assert again.hash == config.hash


def test_equal_settings_have_one_hash_however_they_are_written():
    one = RunConfig(data="synthetic", size=[64, 64], weight=1, learning_rate=1, loss_options=[["classes", [1]]])
    other = RunConfig(data="synthetic", size=(64, 64), weight=1.0, learning_rate=1.0, loss_options=(("classes", (1,)),))
    assert one == other
    assert one.hash == other.hash


@pytest.mark.parametrize("change", [{"seed": 1}, {"loss": "CE"}, {"size": (8, 8)}, {"merge": True}, {"weight": 0.5}])
def test_every_setting_changes_the_hash(change):
    assert replace(PLAIN, **change).hash != PLAIN.hash


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epochs": 0}, "`epochs` must be at least 1, got 0"),
        ({"batch_size": -2}, "`batch_size` must be at least 1, got -2"),
        ({"seed": -1}, "`seed` must lie between 0 and 4294967295, got -1"),
        ({"split_seed": 2**40}, "`split_seed` must lie between 0 and"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be above 0, got nan"),
        ({"learning_rate": float("inf")}, r"`learning_rate` must be at most 1e\+30, got inf"),
        ({"weight_decay": 1e300}, r"`weight_decay` must be at most 1e\+30, got 1e\+300"),
        ({"loss_options": (("temperature", 1e300),)}, r"`temperature` must be at most 1e\+30, got 1e\+300"),
        (
            {"minimum_learning_rate": 1.0, "learning_rate": 0.1},
            "`minimum_learning_rate` 1 is above `learning_rate` 0.1",
        ),
        ({"momentum": 1.0}, "`momentum` must be below 1, got 1"),
        ({"weight_decay": -0.1}, "`weight_decay` must be at least 0, got -0.1"),
        ({"oversample": 1.5}, "between 0 and 1, got 1.5"),
        ({"size": (0, 8)}, r"`size` must be positive along every axis, got \(0, 8\)"),
        ({"spacing": (1.0, float("nan"))}, "`spacing` must be positive"),
        ({"augment": "flips"}, "`augment` must be one of none, flip, .* got 'flips'. Did you mean 'flip'?"),
        ({"optimizer": "adamw"}, "`optimizer` must be one of adam, sgd, got 'adamw'. Did you mean 'adam'?"),
        ({"precision": "fp16"}, "`precision` must be one of auto, float32, bfloat16"),
    ],
)
def test_settings_that_make_no_sense(setting, message):
    with pytest.raises(BadInput, match=message):
        replace(PLAIN, **setting)


def test_settings_of_another_version():
    values = json.loads(PLAIN.to_json()) | {"warp": 9}
    with pytest.raises(BadInput, match="this version does not know: warp"):
        RunConfig.from_values(values)


def test_differences_say_what_this_has_and_the_other_does_not():
    assert PLAIN.differences(replace(PLAIN, batch_size=4, loss="CE")) == [
        "`loss`: 'JaccardCE', not 'CE'",
        "`batch_size`: 8, not 4",
    ]


def test_settings_of_later_versions_leave_earlier_hashes_as_they_were():
    """The hash is that of the text, where a setting of ``LATER`` stands only if it is used."""
    plain = RunConfig(data="synthetic")
    assert not set(LATER) & set(json.loads(plain.to_json()))
    for change in ({"groups": "p"}, {"split": "a.csv"}, {"test_share": 0.2}, {"folds": 5}, {"folds": 5, "fold": 1}):
        config = RunConfig(data="synthetic", **change)
        assert config.hash != plain.hash
        assert RunConfig.from_values(json.loads(config.to_json())) == config
