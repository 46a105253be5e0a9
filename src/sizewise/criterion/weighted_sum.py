"""Weighted sums of terms: the loss that reads its input in one way and in one pass."""

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor, nn

from sizewise.checks import check_weight, check_word, closest
from sizewise.criterion.criterion import Criterion
from sizewise.criterion.term_values import TermValues
from sizewise.module import Module
from sizewise.stats.fields import Field
from sizewise.stats.inputs import ACTIVATIONS, check_ignore_index, check_upsample
from sizewise.stats.region_stats import RegionStats


class Weights(Module):
    """The λ of each term, as 0-dim float64 buffers that can be read and set by name while training.

    Setting writes in place: no recompilation, and a captured CUDA graph sees it.
    """

    def __init__(self, weights: dict[str, float]) -> None:
        super().__init__()
        self.names = tuple(weights)
        for name, weight in weights.items():
            self.register_buffer(name, torch.tensor(weight, dtype=torch.float64))

    def __getitem__(self, name: str) -> Tensor:
        return self._buffers[self._known(name)]  # type: ignore[return-value]

    def __setitem__(self, name: str, weight: float | Tensor) -> None:
        if isinstance(weight, Tensor) and weight.numel() == 1:
            weight = float(weight)  # so that w[name] = w[name] * 0.9 works
        self[name].fill_(check_weight(f"weights[{name!r}]", weight))

    def __iter__(self) -> Iterator[Tensor]:
        return (self[name] for name in self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def keys(self) -> tuple[str, ...]:
        """The names, with which ``dict(criterion.weights)`` works."""
        return self.names

    def _known(self, name: str) -> str:
        if name not in self.names:
            raise KeyError(
                f"there is no term {name!r}; the terms are {', '.join(self.names)}.{closest(name, self.names)}"
            )
        return name

    def __repr__(self) -> str:
        return f"Weights({', '.join(f'{name}={float(self[name]):g}' for name in self.names)})"


class Loss(Criterion):
    """A weighted sum of terms, Σ λ_t · term_t, that reads its input in one way and in one pass.

    Args:
        criterion: a term or a sum of terms, as ``CrossEntropy() + 0.1 * Dice()``.
        ignore_index: the label of pixels without a label; ``None`` treats every stray label as an error.
        activation: ``"softmax"`` over the channels, or ``"sigmoid"`` for each.
        upsample: for logits smaller than the target, as decoders at a quarter of the resolution give: ``"linear"`` is
            the loss of ``interpolate(logits, size, align_corners=False)``, ``"linear-corners"`` that with ``True``, in
            value and gradient, without the memory of the full-size logits.

    Terms of the same kind are named "Dice", "Dice_2", and so on.

    >>> import torch, sizewise as sw
    >>> criterion = sw.Loss(sw.CrossEntropy() + 0.1 * sw.Dice(), ignore_index=255)
    >>> criterion
    Loss(CrossEntropy() + 0.1 * Dice(), ignore_index=255)
    >>> loss = criterion(torch.zeros(1, 2, 4, 4), torch.zeros(1, 4, 4, dtype=torch.uint8))
    >>> criterion.weights["Dice"] = 0.5
    """

    parts: nn.ModuleDict
    weights: Weights

    def __init__(
        self,
        criterion: Criterion,
        *,
        ignore_index: int | None = None,
        activation: str = "softmax",
        upsample: str | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(criterion, Criterion):
            raise TypeError(
                f"Loss: criterion must be a term or a sum of terms, as CrossEntropy() + 0.1 * Dice(), got "
                f"{type(criterion).__name__}. For a named loss use sizewise.loss(name)."
            )
        ignore_index = check_ignore_index("Loss", ignore_index)
        check_word("Loss", "activation", activation, ACTIVATIONS)
        check_upsample("Loss", upsample)
        self.ignore_index = _agreed("ignore_index", ignore_index, criterion.ignore_index, None)
        self.activation = _agreed("activation", activation, criterion.activation, "softmax")
        self.upsample = _agreed("upsample", upsample, criterion.upsample, None)
        parts: dict[str, nn.Module]
        if isinstance(criterion, Loss):
            parts = dict(criterion.parts.items())
            weights = {name: float(criterion.weights[name]) for name in parts}
        else:
            parts, weights = {criterion.label: criterion}, {criterion.label: 1.0}
        self.parts = nn.ModuleDict(parts)
        self.weights = Weights(weights)

    @property
    def label(self) -> str:
        return " + ".join(self.weights.names)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(dict.fromkeys(field for term in self._terms for field in term.fields))

    @property
    def cell_fields(self) -> tuple[Field, ...]:
        return tuple(dict.fromkeys(field for term in self._terms for field in term.cell_fields))

    def cell_classes(self, known: int, sigmoid: bool) -> tuple[int, ...]:
        return tuple(sorted({k for term in self._terms for k in term.cell_classes(known, sigmoid)}))

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset(scope for term in self._terms for scope in term.scopes)

    @property
    def names(self) -> tuple[str, ...]:
        return self.weights.names

    @property
    def lambdas(self) -> tuple[Tensor, ...]:
        return tuple(self.weights)

    @property
    def _terms(self) -> list[Criterion]:
        return [cast(Criterion, term) for term in self.parts.values()]

    def at(self, share: float) -> None:
        for term in self._terms:
            term.at(share)

    def terms_from_stats(self, stats: RegionStats) -> dict[str, Tensor]:
        return {name: cast(Criterion, term).from_stats(stats) for name, term in self.parts.items()}

    def total(self, terms: dict[str, Tensor]) -> Tensor:
        if set(terms) != set(self.weights.names):
            raise ValueError(
                f"{self.label}: total() needs the value of each term, {', '.join(self.weights.names)}, got "
                f"{', '.join(terms) or 'none'}."
            )
        if isinstance(terms, TermValues) and terms.holds(self.lambdas):
            return terms.total
        # With an axis, a value keeps its dtype beside λ in float64: one operation where a cast would make two.
        weighted = [value.unsqueeze(0) * self.weights[name] for name, value in terms.items()]
        result = weighted[0]
        for value in weighted[1:]:
            result = result + value
        return result.squeeze(0)

    @property
    def formula(self) -> str:
        """The weighted sum as it would be written."""
        return " + ".join(f"{term}" if weight == 1 else f"{weight:g} * {term}" for term, weight in self.pairs())

    @property
    def reading(self) -> dict[str, Any]:
        """How it reads its input."""
        return {"ignore_index": self.ignore_index, "activation": self.activation, "upsample": self.upsample}

    def pairs(self) -> list[tuple[Criterion, float]]:
        """Each term with its weight as it is now."""
        return [(term, float(weight)) for term, weight in zip(self._terms, self.weights, strict=True)]

    def __repr__(self) -> str:
        options = [self.formula]
        if self.ignore_index is not None:
            options.append(f"ignore_index={self.ignore_index}")
        if self.activation != "softmax":
            options.append(f"activation={self.activation!r}")
        if self.upsample is not None:
            options.append(f"upsample={self.upsample!r}")
        return f"Loss({', '.join(options)})"


def _as_loss(criterion: Criterion) -> Loss:
    return criterion if isinstance(criterion, Loss) else Loss(criterion)


def scaled(criterion: Criterion, factor: float) -> Loss:
    """Every weight times ``factor``."""
    loss = _as_loss(criterion)
    return _build([(term, old * factor) for term, old in loss.pairs()], loss.reading)


def added(left: Criterion, right: Criterion) -> Loss:
    """The terms of both; they must read their input alike."""
    a, b = _as_loss(left), _as_loss(right)
    defaults = {"ignore_index": None, "activation": "softmax", "upsample": None}
    reading = {
        option: _agreed(option, a.reading[option], b.reading[option], default) for option, default in defaults.items()
    }
    return _build([*a.pairs(), *b.pairs()], reading)


def _agreed(option: str, left: Any, right: Any, default: Any) -> Any:
    if left != right and default not in (left, right):
        raise ValueError(f"Loss: the two sides read their input differently, {option}={left!r} and {option}={right!r}.")
    return right if left == default else left


def _build(parts: list[tuple[Criterion, float]], reading: dict[str, Any]) -> Loss:
    """A Loss of several weighted terms, with equal names numbered."""
    named: dict[str, nn.Module] = {}
    weights: dict[str, float] = {}
    for term, weight in parts:
        name, number = term.label, 1
        while name in named:
            number += 1
            name = f"{term.label}_{number}"
        named[name], weights[name] = term, weight
    loss = Loss(parts[0][0], **reading)
    loss.parts, loss.weights = nn.ModuleDict(named), Weights(weights)
    return loss
