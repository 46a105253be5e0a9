"""What ``sizewise nnunet`` prints."""

import os
import shlex
from collections.abc import Iterator, Mapping

from sizewise.integrations.nnunet.factory import trainer_folder
from sizewise.integrations.nnunet.names import trainer_names
from sizewise.integrations.nnunet.settings import (
    COUNTS,
    PREFIX,
    SETTINGS,
    Settings,
    default_settings,
    environment_settings,
)
from sizewise.losses import ALIASES, loss

VARIABLE = "nnUNet_extTrainer"
SETTING_COLUMNS = (f"{PREFIX}…", "is", "default", "now", "in the name")


def export_line(environment: Mapping[str, str] | None = None) -> str:
    """The line that makes nnU-Net find our trainers, next to folders that were set before.

    >>> export_line({"nnUNet_extTrainer": "/mine"})  # doctest: +ELLIPSIS
    'export nnUNet_extTrainer=/mine:...external'
    """
    environment = os.environ if environment is None else environment
    folders = [folder for folder in environment.get(VARIABLE, "").split(os.pathsep) if folder.strip()]
    if str(trainer_folder()) in folders:
        return f"# {VARIABLE} is set: nnU-Net finds the trainers."
    value = os.pathsep.join([*folders, str(trainer_folder())])
    return f'set "{VARIABLE}={value}"' if os.name == "nt" else f"export {VARIABLE}={shlex.quote(value)}"


def trainer_rows() -> Iterator[tuple[str, str]]:
    """Each trainer with its loss."""
    for trainer, name in trainer_names().items():
        yield trainer, f"{loss(name).formula}{f' (also {ALIASES[name]})' if name in ALIASES else ''}"


def setting_rows() -> Iterator[tuple[str, str, str, str, str]]:
    """Each setting: the end of its variable, meaning, default, present value, and how a trainer's name shows it."""
    now = environment_settings().given()
    examples = Settings(
        weight=0.5,
        temperature=5.0,
        gamma=3.0,
        smooth=1e-5,
        class_reduction="sum",
        scope="image",
        epochs=100,
        iterations=50,
        validation_iterations=10,
    )
    for name, (_, meaning) in SETTINGS.items():
        default = str(COUNTS.get(name, "")) or _default(name)
        example = Settings(**{name: getattr(examples, name)}).suffix
        yield name.upper(), meaning, default, str(now.get(name, "")), example


def _default(name: str) -> str:
    """A setting's default if all losses that take it agree."""
    if name == "scope":
        return "from the plans"
    values = {str(default) for loss_name in trainer_names().values() for default in _has(loss_name, name)}
    return values.pop() if len(values) == 1 else "the loss's own"


def _has(loss_name: str, name: str) -> list[object]:
    defaults = default_settings(loss_name)
    return [defaults[name]] if name in defaults else []
