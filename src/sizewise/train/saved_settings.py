"""The settings of a run that was made before, as the beginning of another."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from sizewise.errors import BadInput
from sizewise.train.config import DEFINITIONS, RunConfig
from sizewise.train.run_folder import read_config


def changed_settings(config: Path, changes: dict[str, Any]) -> dict[str, Any]:
    """The settings in a ``config.json`` (or of a run folder), with changes on top; ``resolve`` completes nothing there.

    Options of the loss that are given join those of the file. Settings that belong to a loss do not outlive it: with
    another ``loss``, λ and the options are the new one's own.
    """
    folder = config if config.is_dir() else config.parent
    if not config.exists() or (config.is_file() and config.name != "config.json"):
        raise BadInput(f"`config` {config} is no config.json of a run, and no run folder.")
    found = read_config(folder)
    if found.definitions != DEFINITIONS:
        raise BadInput(
            f"`config` {config} was written by an earlier version, whose words meant another computation (definitions "
            f"{found.definitions}, now {DEFINITIONS}). Give its settings as flags."
        )
    if changes.get("recipe", found.recipe) != found.recipe:
        raise BadInput(
            f"`config` {config} has a value for each setting that `recipe={changes['recipe']}` would give, so that the "
            "recipe would change nothing. Leave one of the two out."
        )
    settings = {field.name: getattr(found, field.name) for field in fields(RunConfig) if field.name != "definitions"}
    if changes.get("loss", found.loss) != found.loss:
        settings |= {"weight": None, "loss_options": (), "ramp": ""}
    options = dict(settings["loss_options"]) | dict(changes.get("loss_options", ()))
    return settings | changes | {"loss_options": tuple(sorted(options.items()))}
