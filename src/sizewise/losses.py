"""The paper's losses by name."""

from typing import Any

from sizewise.checks import check_weight, closest
from sizewise.criterion import Criterion, Loss
from sizewise.terms import BalancedCrossEntropy, CrossEntropy, Dice, DiceBias, Focal, LogDice, SizeKL, SizeL1
from sizewise.terms.term import Term

# name: (the main term, λ, the term that λ weighs)
NAMED_LOSSES: dict[str, tuple[type[Term], float | None, type[Term] | None]] = {
    "CE": (CrossEntropy, None, None),
    "WCE": (BalancedCrossEntropy, None, None),
    "FL": (Focal, None, None),
    "Dice": (Dice, None, None),
    "LogDice": (LogDice, None, None),
    "DiceCE": (CrossEntropy, 0.1, Dice),
    "LogDiceCE": (CrossEntropy, 0.1, LogDice),
    "DiceFL": (Focal, 0.1, Dice),
    "LogDiceFL": (Focal, 0.1, LogDice),
    "DBCE": (CrossEntropy, 0.01, DiceBias),
    "RCE-L1": (CrossEntropy, 1.0, SizeL1),
    "RCE-KL": (CrossEntropy, 0.1, SizeKL),
    "RFL-L1": (Focal, 1.0, SizeL1),
    "RFL-KL": (Focal, 0.1, SizeKL),
}
ALIASES = {"RCE": "RCE-L1", "RFL": "RFL-L1"}


def loss_names() -> tuple[str, ...]:
    """The names that :func:`loss` knows, aliases left out.

    >>> import sizewise as sw
    >>> len(sw.loss_names()), "RCE-L1" in sw.loss_names()
    (14, True)
    """
    return tuple(NAMED_LOSSES)


def loss(
    name: str,
    *,
    weight: float | None = None,
    ignore_index: int | None = None,
    activation: str = "softmax",
    class_weight: Any = None,
    classes: Any = None,
    scope: str | None = None,
    absent: str | None = None,
    class_reduction: str | None = None,
    gamma: float | None = None,
    smooth: float | None = None,
    temperature: float | None = None,
    target: Any = None,
    pixels: str | None = None,
) -> Loss:
    """One of the paper's losses, with its defaults.

    Every option goes to each term that has it (``None``: the term's own default); one that no term has is an error.

    Args:
        name: "CE", "WCE", "FL", "Dice", "LogDice", "DiceCE", "LogDiceCE", "DiceFL", "LogDiceFL", "DBCE", "RCE-L1" (also
            "RCE"), "RCE-KL", "RFL-L1" (also "RFL"), "RFL-KL".
        weight: λ, the weight of the second term.
        ignore_index: the label of pixels without a label.
        activation: ``"softmax"`` or ``"sigmoid"``.
        class_weight: one weight per class.
        classes: ``"all"``, ``"foreground"`` or a list of ids.
        scope: ``"image"``, ``"batch"`` or ``"global"``.
        absent: ``"include"`` or ``"skip"``.
        class_reduction: ``"sum"`` or ``"mean"``.
        gamma: the focal exponent.
        smooth: ε of Dice-type terms, in pixels.
        temperature: τ of size terms.
        target: known proportions for size terms.
        pixels: ``"valid"`` or ``"all"``, for size terms with known proportions.

    >>> import sizewise as sw
    >>> sw.loss("RCE")
    Loss(CrossEntropy() + SizeL1())
    >>> sw.loss("DiceCE", weight=1.0, ignore_index=255, classes="foreground")
    Loss(CrossEntropy(classes='foreground') + Dice(classes='foreground'), ignore_index=255)
    """
    main, default_weight, second = _find(name)
    given = {
        "class_weight": class_weight,
        "classes": classes,
        "scope": scope,
        "absent": absent,
        "class_reduction": class_reduction,
        "gamma": gamma,
        "smooth": smooth,
        "temperature": temperature,
        "target": target,
        "pixels": pixels,
    }
    given = {option: value for option, value in given.items() if value is not None}
    kinds = (main,) if second is None else (main, second)
    for option in given:
        if not any(option in kind.option_names() for kind in kinds):
            own = sorted({one for kind in kinds for one in kind.option_names()})
            raise TypeError(f"loss {name!r}: no term of it has the option {option!r}; it takes {', '.join(own)}.")
    if weight is not None:
        weight = check_weight(f"loss {name!r}", weight)
        if second is None:
            raise TypeError(
                f"loss {name!r}: weight is λ, which weighs a second term, and this loss has one term only. Write "
                f"{weight:g} * {main.__name__}() to scale it."
            )
    made: list[Criterion] = [
        kind(**{option: value for option, value in given.items() if option in kind.option_names()}) for kind in kinds
    ]
    criterion = made[0]
    if second is not None:
        assert default_weight is not None
        criterion = criterion + (default_weight if weight is None else weight) * made[1]
    return Loss(criterion, ignore_index=ignore_index, activation=activation)


def _find(name: Any) -> tuple[type[Term], float | None, type[Term] | None]:
    names = (*NAMED_LOSSES, *ALIASES)
    if not isinstance(name, str) or name not in names:
        raise ValueError(f"there is no loss {name!r}; the names are {', '.join(names)}.{closest(name, names)}")
    return NAMED_LOSSES[ALIASES.get(name, name)]
