"""From a run that was trained to the flags of a study whose runs are trained like it."""

from typing import Any

from sizewise.study.study_words import OWN
from sizewise.train.config import RunConfig
from sizewise.train.recipes import RECIPES
from sizewise.train.setting_words import LOSS_OPTIONS, setting_types

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
    for name in setting_types():
        value = None if name in OWN | DERIVED | set(LOSS_OPTIONS) else getattr(config, name)
        if value is not None and value is not False and value != getattr(usual, name):
            flag = SPELLED.get(name, "--" + name.replace("_", "-"))
            flags += [flag] if value is True else [flag, _word(name, value)]
    return flags


def _word(name: str, value: Any) -> str:
    """A value as the command line reads it."""
    if not isinstance(value, tuple):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if name == "modality":
        return ",".join(value)
    return "x".join(f"{part:g}" for part in value) or "stored"
