"""The factory of all trainers."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sizewise.criterion import Criterion
from sizewise.errors import BadInput, import_extra
from sizewise.integrations.nnunet.names import OPENING, hint, read_name, resolve, trainer_names
from sizewise.integrations.nnunet.settings import COUNTS, PREFIX, Settings, default_settings, validation_decision
from sizewise.integrations.nnunet.trainer import SizewiseTraining
from sizewise.losses import loss


def trainer_folder() -> Path:
    """The folder to name in ``nnUNet_extTrainer``."""
    return Path(__file__).parent / "external"


def make_trainer(
    name: str,
    make_criterion: Callable[[str], Criterion],
    *,
    settings: Settings | None = None,
    base: type | None = None,
    decision: str | None = None,
) -> type:
    """A trainer class for any sum of terms; put it into a file of a folder that ``nnUNet_extTrainer`` names.

    Args:
        name: the class name, which nnU-Net also gives to the folder of its models. Another loss needs another name.
        make_criterion: makes the loss; takes the scope that follows from nnU-Net's plans ("image", "batch", "global").
        settings: epochs and iterations. λ and the like belong to the criterion.
        base: the trainer that it changes; default nnU-Net's ``nnUNetTrainer``.
        decision: "dice", "iou" or "size": the final validation is then made twice, with argmax and with this decision
            (see :func:`sizewise.decide`), whose label maps and scores lie in ``fold_0/decided_dice/validation``. The
            variable ``SIZEWISE_VALIDATION_DECISION`` comes before it.
    """
    validation_decision(decision, {})  # a wrong word is told here
    settings = Settings() if settings is None else settings
    if settings.loss_options():
        raise BadInput(
            f"{name}: {', '.join(settings.loss_options())} must be set in the criterion, which make_criterion makes."
        )
    return _make(name, make_criterion, settings=settings, loss_options={}, base=base, decision=decision)


def find_trainer(name: str) -> type | None:
    """The trainer of this name, with the environment's settings if the name carries none; ``None`` if not ours.

    A name with settings is complete: it means the same in every environment, which prediction relies on.
    """
    if not name.startswith(OPENING):
        return None
    return _find(name, tuple(sorted((key, text) for key, text in os.environ.items() if key.upper().startswith(PREFIX))))


@cache  # nnU-Net asks twice, and one name should stay one class
def _find(name: str, variables: tuple[tuple[str, str], ...]) -> type | None:
    read = read_name(name)
    if read is None:
        if said := hint(name):
            print(said)
        return None
    if variables and name not in trainer_names():
        print(f"sizewise: {name} names its settings, so {PREFIX}… variables are not used.")
    full_name, loss_name, settings = resolve(name, dict(variables))
    if full_name != name:
        print(
            f"sizewise: with the {PREFIX}… variables that are set, {name} is {full_name}. "
            "Its models lie in a folder of that name; give it to nnUNetv2_predict and others as -tr."
        )
    return named_trainer(full_name, loss_name, settings)


@cache
def named_trainer(name: str, loss_name: str, settings: Settings) -> type:
    """The trainer of a named loss."""
    options = settings.loss_options()

    def make_criterion(scope: str) -> Criterion:
        # "image" is how the terms are by themselves: CE and focal are means over all pixels of the batch.
        return loss(loss_name, scope=None if scope == "image" else scope, **options)

    defaults = {key: value for key, value in default_settings(loss_name).items() if key not in COUNTS}
    return _make(name, make_criterion, settings=settings, loss_options=defaults | options, base=None)


def _make(
    name: str,
    make_criterion: Callable[[str], Criterion],
    *,
    settings: Settings,
    loss_options: dict[str, Any],
    base: type | None,
    decision: str | None = None,
) -> type:
    if base is None:
        module = "nnunetv2.training.nnUNetTrainer.nnUNetTrainer"
        base = import_extra(module, extra="nnunet", reason="a trainer for nnU-Net").nnUNetTrainer
    return type(
        name,
        (SizewiseTraining, base),
        {
            "__doc__": f"nnU-Net's trainer with the loss {make_criterion('image')!r}.",
            "settings": settings,
            "loss_options": loss_options,
            "make_criterion": staticmethod(make_criterion),
            "decision": decision,
        },
    )
