"""Losses by name: the paper's, CE with Jaccard, Dice per component; or written down as a sum of terms."""

from dataclasses import dataclass, field
from typing import Any

from sizewise.checks import check_weight, closest
from sizewise.criterion import Criterion, Loss
from sizewise.loss_formula import is_formula, read_formula
from sizewise.terms import BalancedCrossEntropy, CrossEntropy, Dice, DiceBias, Focal, Jaccard, LogDice, SizeKL, SizeL1
from sizewise.terms.per_component import per_component
from sizewise.terms.term import Term


@dataclass(frozen=True)
class Part:
    """A term of a named loss: its class, its weight, the options that the name sets; whether it is per component."""

    kind: type[Term]
    weight: float = 1.0
    options: dict[str, Any] = field(default_factory=dict)
    per_component: bool = False

    def make(self, given: dict[str, Any], weight: float | None = None) -> Criterion:
        """The term with those of the given options that it has."""
        own = self.options | {option: value for option, value in given.items() if option in self.kind.option_names()}
        made: Criterion = per_component(self.kind(**own)) if self.per_component else self.kind(**own)
        weight = self.weight if weight is None else weight
        return made if weight == 1 else weight * made


@dataclass(frozen=True)
class NamedLoss:
    """What a name stands for: the weighted sum of its parts."""

    parts: tuple[Part, ...]

    @property
    def weight(self) -> float | None:
        """λ: the weight of the last term, beside others."""
        return self.parts[-1].weight if len(self.parts) > 1 else None

    @property
    def kinds(self) -> tuple[type[Term], ...]:
        """The classes of its terms."""
        return tuple(part.kind for part in self.parts)


def _sum(*parts: Part | type[Term]) -> NamedLoss:
    return NamedLoss(tuple(part if isinstance(part, Part) else Part(part) for part in parts))


_CC_DICE = Part(Dice, options={"classes": "foreground"}, per_component=True)
NAMED_LOSSES: dict[str, NamedLoss] = {
    "CE": _sum(CrossEntropy),
    "WCE": _sum(BalancedCrossEntropy),
    "FL": _sum(Focal),
    "Dice": _sum(Dice),
    "LogDice": _sum(LogDice),
    "DiceCE": _sum(CrossEntropy, Part(Dice, 0.1)),
    "LogDiceCE": _sum(CrossEntropy, Part(LogDice, 0.1)),
    "DiceFL": _sum(Focal, Part(Dice, 0.1)),
    "LogDiceFL": _sum(Focal, Part(LogDice, 0.1)),
    "DBCE": _sum(CrossEntropy, Part(DiceBias, 0.01)),
    "RCE-L1": _sum(CrossEntropy, SizeL1),
    "RCE-KL": _sum(CrossEntropy, Part(SizeKL, 0.1)),
    "RFL-L1": _sum(Focal, SizeL1),
    "RFL-KL": _sum(Focal, Part(SizeKL, 0.1)),
    "JaccardCE": _sum(Part(CrossEntropy, 0.25), Part(Jaccard, 0.75, {"absent": "skip"})),
    "CC-Dice": _sum(_CC_DICE),
    "CC-DiceCE": _sum(CrossEntropy, Dice, _CC_DICE),
}
ALIASES = {"RCE": "RCE-L1", "RFL": "RFL-L1"}


def loss_names() -> tuple[str, ...]:
    """The names that :func:`loss` knows, aliases left out.

    >>> import sizewise as sw
    >>> len(sw.loss_names()), "RCE-L1" in sw.loss_names()
    (17, True)
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
    upsample: str | None = None,
) -> Loss:
    """A loss by name, with its defaults.

    Every option goes to each term that has it (``None``: the term's own default); one that no term has is an error.

    Args:
        name: "CE", "WCE", "FL", "Dice", "LogDice", "DiceCE", "LogDiceCE", "DiceFL", "LogDiceFL", "DBCE", "RCE-L1" (also
            "RCE"), "RCE-KL", "RFL-L1" (also "RFL"), "RFL-KL", "JaccardCE", "CC-Dice", "CC-DiceCE"; a sum of these and
            of terms with their options, as "CE + 0.5 * Tversky(alpha=0.3, beta=0.7)", which is read, not run; or
            ``package.module:name`` of your own.
        weight: λ, the weight of the last term, beside others.
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
        upsample: ``"linear"`` or ``"linear-corners"``, for logits smaller than the target; see :class:`Loss`.

    >>> import sizewise as sw
    >>> sw.loss("RCE")
    Loss(CrossEntropy() + SizeL1())
    >>> sw.loss("DiceCE", weight=1.0, ignore_index=255, classes="foreground")
    Loss(CrossEntropy(classes='foreground') + Dice(classes='foreground'), ignore_index=255)
    >>> sw.loss("JaccardCE")
    Loss(0.25 * CrossEntropy() + 0.75 * Jaccard(absent='skip'))
    >>> sw.loss("CC-DiceCE")
    Loss(CrossEntropy() + Dice() + per_component(Dice(classes='foreground')))
    """
    if is_formula(name):
        return _written(name, locals())
    named = _find(name)
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
    for option in given:
        if not any(option in kind.option_names() for kind in named.kinds):
            own = sorted({one for kind in named.kinds for one in kind.option_names()})
            raise TypeError(f"loss {name!r}: no term of it has the option {option!r}; it takes {', '.join(own)}.")
    if weight is not None:
        weight = check_weight(f"loss {name!r}", weight)
        if named.weight is None:
            raise TypeError(
                f"loss {name!r}: weight is λ, which weighs a second term, and this loss has one term only. Write "
                f"{weight:g} * {named.parts[0].make({})!r} to scale it."
            )
    *before, last = named.parts
    made = [part.make(given) for part in before] + [last.make(given, weight)]
    return Loss(sum(made[1:], made[0]), ignore_index=ignore_index, activation=activation, upsample=upsample)


def _written(formula: str, given: dict[str, Any]) -> Loss:
    """A loss that is written down says everything but how its input is read."""
    reading = {option: given[option] for option in ("ignore_index", "activation", "upsample")}
    others = [option for option, value in given.items() if option not in ("name", *reading) and value is not None]
    if others:
        raise TypeError(
            f"loss {formula!r}: {', '.join(others)} goes into the formula where it is meant, as Dice(smooth=0.5) or "
            "0.1 * Dice."
        )
    return Loss(read_formula(formula, loss, (*NAMED_LOSSES, *ALIASES)), **reading)


def _find(name: Any) -> NamedLoss:
    names = (*NAMED_LOSSES, *ALIASES)
    if not isinstance(name, str) or name not in names:
        raise ValueError(f"there is no loss {name!r}; the names are {', '.join(names)}.{closest(name, names)}")
    return NAMED_LOSSES[ALIASES.get(name, name)]
