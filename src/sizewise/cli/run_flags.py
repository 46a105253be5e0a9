"""From a run that was trained to the flags of a study whose runs are trained like it."""

from typing import Any

from sizewise.study.study_words import OWN
from sizewise.train.config import RunConfig
from sizewise.train.recipes import KEEP_ASPECT, RECIPES
from sizewise.train.setting_words import LOSS_OPTIONS, setting_types
from sizewise.wording import number_word, size_word

SPELLED = {"data_name": "--name"}
DERIVED = {"recipe", "precision"}  # the one is written first, the other follows from the device


def protocol_flags(config: RunConfig) -> list[str]:
    """The options of ``sizewise compare`` that read the data and train as this run did: its recipe, and what differs.

    >>> protocol_flags(RunConfig("d", recipe="polyp", ignore_index=255, **(RECIPES["polyp"] | {"size": (96, 128)})))
    ['--recipe', 'polyp', '--ignore-index', '255', '--size', '96x128']
    """
    known = RECIPES.get(config.recipe, {})
    usual = RunConfig(config.data, **{name: value for name, value in known.items() if name != "model"})
    flags = ["--recipe", config.recipe] if known else []
    open_to_data = _open_to_data(config)
    for name in setting_types():
        value = None if name in OWN | DERIVED | set(LOSS_OPTIONS) else getattr(config, name)
        if value is not None and value is not False and (name in open_to_data or value != getattr(usual, name)):
            flag = SPELLED.get(name, "--" + name.replace("_", "-"))
            flags += [flag] if value is True else [flag, _word(name, value)]
    return flags


def loss_word(config: RunConfig) -> str:
    """The run's loss with its options, as a study takes it.

    >>> loss_word(RunConfig("d", loss="RCE", weight=0.5, loss_options=(("temperature", 5.0),)))
    'RCE(weight=0.5, temperature=5.0)'
    """
    options = ({} if config.weight is None else {"weight": config.weight}) | dict(config.loss_options)
    # lists, since words of a study are separated by the commas that are in no brackets, and those nest
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    inside = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return f"{config.loss}({inside})" if inside else config.loss


def _open_to_data(config: RunConfig) -> set[str]:
    """What goes by the data unless it is given: left out, the recipe's own value would be replaced by another."""
    names = {"size"} if config.recipe in KEEP_ASPECT else set()
    if config.patch:  # volumes, which are resampled to their median spacing
        names.add("spacing")
    return names | ({"batch_size", "augment"} if config.recipe == "volume" else set())


def _word(name: str, value: Any) -> str:
    """A value as the command line reads it."""
    if not isinstance(value, tuple):
        return number_word(value) if isinstance(value, float) else str(value)
    return ",".join(value) if name == "modality" else size_word(value)
