"""What can be set about a trainer without writing a class: read from the environment, written into its name."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sizewise.checks import check_number, check_word, closest
from sizewise.decisions.rule import METRICS
from sizewise.errors import BadInput
from sizewise.losses import ALIASES, NAMED_LOSSES, loss
from sizewise.stats.region_stats import SCOPES
from sizewise.terms.reduction import CLASS_REDUCTIONS

PREFIX = "SIZEWISE_NNUNET_"
# No setting of the training, so that it is in no name: one model can be validated with several decisions.
DECISION_VARIABLE = "SIZEWISE_VALIDATION_DECISION"

# field: (the word that opens it in a trainer's name, what it is)
SETTINGS = {
    "weight": ("weight", "λ, the weight of the last term"),
    "temperature": ("temperature", "τ of the size terms"),
    "gamma": ("gamma", "the focal exponent"),
    "smooth": ("smooth", "ε of the Dice-type terms, in pixels"),
    "class_reduction": ("reduction", "sum or mean over the classes"),
    "scope": ("scope", "image, batch or global; default: batch where the plans say batch_dice, else image"),
    "epochs": ("epochs", "number of epochs"),
    "iterations": ("iterations", "training iterations per epoch"),
    "validation_iterations": ("validations", "validation iterations per epoch"),
}
COUNTS = {"epochs": 1000, "iterations": 250, "validation_iterations": 50}  # nnU-Net's own
CHOICES = {"class_reduction": CLASS_REDUCTIONS, "scope": SCOPES}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What differs from the loss's own defaults and from nnU-Net's; ``None`` keeps a default.

    >>> Settings(weight=0.5, epochs=100).suffix
    '_weight0.5_epochs100'
    >>> Settings().suffix
    ''
    """

    weight: float | None = None
    temperature: float | None = None
    gamma: float | None = None
    smooth: float | None = None
    class_reduction: str | None = None
    scope: str | None = None
    epochs: int | None = None
    iterations: int | None = None
    validation_iterations: int | None = None

    def given(self) -> dict[str, Any]:
        """What is set, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def loss_options(self) -> dict[str, Any]:
        """Those that ``sizewise.loss`` takes; the scope also depends on the plans, so it is not among them."""
        return {name: value for name, value in self.given().items() if name not in COUNTS and name != "scope"}

    @property
    def suffix(self) -> str:
        """What a trainer's name ends with, so that nnU-Net gives every setting a folder of its own."""
        return "".join(f"_{SETTINGS[name][0]}{_write(value)}" for name, value in self.given().items())

    def checked(self, loss_name: str, where: str) -> "Settings":
        """The same settings less those that are the defaults of ``loss_name``, or an error if it does not take them."""
        try:
            loss(loss_name, **self.loss_options())
        except (TypeError, ValueError) as error:
            raise BadInput(f"{where}: {error} Settings come from {PREFIX}… variables or from the name.") from error
        defaults = default_settings(loss_name)
        return Settings(**{name: value for name, value in self.given().items() if value != defaults.get(name)})


def default_settings(loss_name: str) -> dict[str, Any]:
    """The value that each setting of a loss has unless it is set.

    >>> default_settings("RCE")["weight"], default_settings("RCE")["temperature"], default_settings("RCE")["epochs"]
    (1.0, 10.0, 1000)
    """
    named = NAMED_LOSSES[ALIASES.get(loss_name, loss_name)]
    defaults: dict[str, Any] = {} if named.weight is None else {"weight": named.weight}
    for kind in named.kinds:
        own = kind.__init__.__kwdefaults__ or {}
        defaults |= {name: own[name] for name in SETTINGS if name in own and name != "scope"}
    return defaults | COUNTS


def environment_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of the ``SIZEWISE_NNUNET_…`` variables.

    >>> environment_settings({"SIZEWISE_NNUNET_WEIGHT": "0.5", "SIZEWISE_NNUNET_EPOCHS": "100", "HOME": "/"}).given()
    {'weight': 0.5, 'epochs': 100}
    """
    environment = os.environ if environment is None else environment
    known = {variable(name): name for name in SETTINGS}
    found = {}
    for key, text in environment.items():
        if not key.upper().startswith(PREFIX) or not text.strip():
            continue
        if key not in known:
            names = tuple(known)
            raise BadInput(
                f"{key} is not a setting of the nnU-Net trainers; they are {', '.join(names)}.{closest(key, names)}"
            )
        found[known[key]] = read_setting(key, known[key], text.strip())
    return Settings(**found)


def validation_decision(default: str | None = None, environment: Mapping[str, str] | None = None) -> str | None:
    """The metric that validation decides for beside argmax: the environment's, else the trainer's own, or ``None``.

    >>> validation_decision(environment={"SIZEWISE_VALIDATION_DECISION": "dice"})
    'dice'
    >>> validation_decision("dice", {"SIZEWISE_VALIDATION_DECISION": "argmax"})
    """
    environment = os.environ if environment is None else environment
    text = environment.get(DECISION_VARIABLE, "").strip() or default
    if text is None:
        return None
    try:
        metric = check_word(DECISION_VARIABLE, "the decision of the validation", text, METRICS)
    except ValueError as error:
        raise BadInput(str(error)) from error
    return None if metric == "argmax" else metric


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def read_setting(where: str, name: str, text: str) -> Any:
    """One setting from its text.

    >>> read_setting("SIZEWISE_NNUNET_EPOCHS", "epochs", "ten")
    Traceback (most recent call last):
    sizewise.errors.BadInput: SIZEWISE_NNUNET_EPOCHS: epochs must be a whole number >= 1, got 'ten'.
    """
    try:
        if name in CHOICES:
            return check_word(where, name, text, CHOICES[name])
        if name in COUNTS:
            if not (text.isascii() and text.isdigit() and int(text) >= 1):
                raise ValueError(f"{where}: {name} must be a whole number >= 1, got {text!r}.")
            return int(text)
        try:
            number = float(text)
        except ValueError:
            raise ValueError(f"{where}: {name} must be a number >= 0, got {text!r}.") from None
        return check_number(where, name, number, minimum=0)
    except ValueError as error:
        raise BadInput(str(error)) from error


def _write(value: Any) -> str:
    """A value as it stands in a name: short, and read back as exactly the same."""
    return repr(int(value)) if isinstance(value, float) and value == int(value) and value < 1e6 else str(value)


assert tuple(SETTINGS) == tuple(field.name for field in fields(Settings)), "one row for each setting, in one order"
