"""The sentences that bad input gets: which argument, what was wanted, what was given, what to do."""

import difflib
import math
import operator
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import torch


def check_word(where: str, argument: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the ``allowed`` words, else say which one was probably meant.

    >>> check_word("Dice", "scope", "batch", ("image", "batch"))
    'batch'
    """
    allowed = tuple(allowed)
    if isinstance(value, str) and value in allowed:
        return value
    words = ", ".join(repr(word) for word in allowed)
    raise ValueError(f"{where}: {argument} must be one of {words}, got {value!r}.{closest(value, allowed)}")


def closest(value: Any, allowed: Sequence[str]) -> str:
    """A ``did you mean`` sentence, or nothing when no allowed word is near."""
    folded = {word.lower(): word for word in allowed}
    near = difflib.get_close_matches(str(value).lower(), folded, n=1, cutoff=0.5)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""


def check_number(where: str, argument: str, value: Any, *, minimum: float, exclusive: bool = False) -> float:
    """Return ``value`` as a finite float that is at least (or above) ``minimum``.

    >>> check_number("Focal", "gamma", 2, minimum=0)
    2.0
    """
    wanted = f"a number {'>' if exclusive else '>='} {minimum:g}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{where}: {argument} must be {wanted}, got {type(value).__name__} {value!r}.")
    number = float(value)
    if not math.isfinite(number) or number < minimum or (exclusive and number == minimum):
        raise ValueError(f"{where}: {argument} must be {wanted}, got {value!r}.")
    return number


def check_smooth(where: str, value: Any) -> float:
    """Return ε as a float > 0 that float32 can hold: one that rounds to 0 would divide 0 by 0."""
    number = check_number(where, "smooth", value, minimum=0, exclusive=True)
    return check_number(where, "smooth", number, minimum=torch.finfo(torch.float32).tiny)


def check_weight(where: str, value: Any) -> float:
    """Return a term's weight λ as a float; lists and tensors belong into ``class_weight``."""
    if not isinstance(value, Real):
        raise TypeError(
            f"{where}: weight is λ, one number >= 0 for a whole term, got {type(value).__name__}. "
            "Weights per class go into class_weight=..."
        )
    return check_number(where, "weight", value, minimum=0)


def check_class_ids(where: str, classes: Any) -> tuple[int, ...]:
    """Return distinct ids >= 0; a mask of bools, and 1.5, are not taken for ids.

    >>> check_class_ids("Dice", [2, 1])
    (2, 1)
    """
    try:
        ids = tuple(_integer(one) for one in classes)
    except TypeError as error:
        raise TypeError(
            f'{where}: classes must be "all", "foreground" or a list of class ids, got {classes!r}.'
        ) from error
    if not ids or len(set(ids)) < len(ids) or min(ids) < 0:
        raise ValueError(f"{where}: classes must be distinct ids >= 0, at least one, got {list(ids)}.")
    return ids


def _integer(value: Any) -> int:
    if isinstance(value, bool) or getattr(value, "dtype", None) == torch.bool:
        raise TypeError("a bool is no id")
    return operator.index(value)


def check_values(where: str, argument: str, values: Any, *, maximum: float = math.inf) -> torch.Tensor:
    """Return numbers, a list or a tensor as a float64 tensor whose entries lie in [0, ``maximum``]."""
    try:
        tensor = torch.as_tensor(values, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"{where}: {argument} must be numbers, a list or a tensor, got {type(values).__name__} {values!r}."
        ) from error
    if not bool(((tensor >= 0) & (tensor <= maximum) & tensor.isfinite()).all()):
        limits = "finite and >= 0" if maximum == math.inf else f"between 0 and {maximum:g}"
        raise ValueError(f"{where}: every entry of {argument} must be {limits}, got {tensor.tolist()}.")
    return tensor
