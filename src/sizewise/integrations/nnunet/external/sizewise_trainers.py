"""The module that nnU-Net finds in ``nnUNet_extTrainer``: asked for a trainer by name, it makes the class.

This folder holds nothing else, since nnU-Net imports every file in it.
"""

from typing import Any

from sizewise.integrations.nnunet.factory import find_trainer
from sizewise.integrations.nnunet.names import trainer_names


def __getattr__(name: str) -> Any:
    trainer = find_trainer(name)
    if trainer is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return trainer


def __dir__() -> list[str]:
    return sorted([*globals(), *trainer_names()])
