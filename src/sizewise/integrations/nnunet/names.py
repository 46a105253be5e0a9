"""Trainer names: a loss, and what is set about it."""

import re
from collections.abc import Mapping

from sizewise.checks import closest
from sizewise.errors import BadInput
from sizewise.integrations.nnunet.settings import SETTINGS, Settings, environment_settings, read_setting
from sizewise.losses import ALIASES, loss_names

OPENING = "nnUNetTrainer"


def trainer_names() -> dict[str, str]:
    """The loss of each trainer, aliases included.

    >>> trainer_names()["nnUNetTrainerRCE"], trainer_names()["nnUNetTrainerRCEKL"], len(trainer_names())
    ('RCE', 'RCE-KL', 19)
    """
    return {OPENING + name.replace("-", ""): name for name in (*loss_names(), *ALIASES)}


def read_name(trainer: str) -> tuple[str, Settings] | None:
    """The loss and the settings that a trainer's name says; ``None`` if it is not a name of ours.

    >>> loss, settings = read_name("nnUNetTrainerRCE_weight0.5_epochs100")
    >>> loss, settings.given()
    ('RCE', {'weight': 0.5, 'epochs': 100})
    >>> read_name("nnUNetTrainerDA5")
    """
    opening, *parts = trainer.split("_")
    loss = trainer_names().get(opening)
    if loss is None:
        return None
    words = {word: name for name, (word, _) in SETTINGS.items()}
    found = {}
    for part in parts:
        match = re.fullmatch(f"({'|'.join(words)})(.*)", part)
        if match is None:
            return None  # somebody else's trainer, whose name begins like one of ours
        word, text = match.groups()
        found[words[word]] = read_setting(trainer, words[word], text)
    settings = Settings(**found).checked(loss, trainer)
    if opening + settings.suffix != trainer:
        raise BadInput(
            f"{trainer}: this trainer is called {opening}{settings.suffix}. Write it so: nnU-Net names folders by it."
        )
    return loss, settings


def resolve(trainer: str, environment: Mapping[str, str] | None = None) -> tuple[str, str, Settings]:
    """A trainer's full name, its loss and its settings: the environment's, if the name carries none.

    >>> resolve("nnUNetTrainerRCE", {"SIZEWISE_NNUNET_EPOCHS": "100"})[0]
    'nnUNetTrainerRCE_epochs100'
    """
    read = read_name(trainer)
    if read is None:
        names = ", ".join(trainer_names())
        raise BadInput(f"there is no trainer {trainer!r}; they are {names}.{closest(trainer, tuple(trainer_names()))}")
    loss, settings = read
    if trainer in trainer_names():
        settings = environment_settings(environment).checked(loss, trainer)
        return trainer + settings.suffix, loss, settings
    return trainer, loss, settings


def hint(trainer: str) -> str:
    """A sentence for a name that is almost one of ours, else nothing.

    >>> hint("nnUNetTrainerRCE_100epochs")
    'sizewise: settings in a trainer name look like nnUNetTrainerRCE_weight0.5_epochs100.'
    >>> hint("nnUNetTrainerRCEkl")
    "sizewise: there is no trainer 'nnUNetTrainerRCEkl' here. Did you mean 'nnUNetTrainerRCEKL'?"
    """
    opening = trainer.partition("_")[0]
    if opening in trainer_names():
        return f"sizewise: settings in a trainer name look like {opening}_weight0.5_epochs100."
    near = closest(trainer.removeprefix(OPENING), [name.removeprefix(OPENING) for name in trainer_names()])
    near = near.replace("'", f"'{OPENING}", 1)
    return f"sizewise: there is no trainer {trainer!r} here.{near}" if near else ""
