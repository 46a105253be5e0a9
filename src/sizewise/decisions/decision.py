"""A decision as a module: its options, and what was fitted."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_number
from sizewise.decisions.decide import check_background, check_options, decide, read_input
from sizewise.decisions.rule import Rule
from sizewise.module import Module


class Decision(Module):
    """How labels are drawn: :func:`decide` with its options, which ``state_dict`` keeps with the fitted temperature.

    Args:
        metric: ``"dice"``, ``"iou"``, ``"size"`` or ``"argmax"``.
        activation: ``"softmax"`` or ``"sigmoid"``.
        background: the class that is not scored, or None.
        temperature: what logits are divided by.
        prune: see :func:`decide`.
        scope: ``"image"`` or ``"batch"``.

    >>> import torch, sizewise as sw
    >>> decision = sw.Decision("dice", background=0, temperature=1.3)
    >>> decision
    Decision('dice', temperature=1.3)
    >>> decision(torch.zeros(1, 2, 4, 4)).shape
    torch.Size([1, 4, 4])
    """

    temperature: Tensor
    gain: Tensor
    threshold: Tensor
    _read_at: tuple[int, int | None] | None = None
    _number: float

    def __init__(
        self,
        metric: str = "dice",
        *,
        activation: str = "softmax",
        background: int | None = 0,
        temperature: float = 1.0,
        prune: float = 0.5,
        scope: str = "image",
    ) -> None:
        super().__init__()
        check_options("Decision", metric, activation, scope, prune)
        check_background("Decision", background)
        check_number("Decision", "temperature", temperature, minimum=0, exclusive=True)
        self.metric, self.activation, self.background = metric, activation, background
        self.prune, self.scope = prune, scope
        self.register_buffer("temperature", torch.tensor(float(temperature), dtype=torch.float64))
        # The rule of pooled images, where one was fitted: a and t of each class, (K,), or for sigmoid (C, 2).
        self.register_buffer("gain", torch.empty(0, dtype=torch.float64))
        self.register_buffer("threshold", torch.empty(0, dtype=torch.float64))

    def forward(
        self,
        logits: Tensor,
        mask: Tensor | None = None,
        *,
        given: str = "logits",
        upsample: str | None = None,
        size: Sequence[int] | None = None,
    ) -> Tensor:
        """Labels (N, *S), or for sigmoid (N, C, *S); see :func:`decide`."""
        temperature = self.number()
        if not len(self.gain):
            return decide(
                logits,
                metric=self.metric,
                activation=self.activation,
                given=given,
                background=self.background,
                temperature=temperature,
                mask=mask,
                prune=self.prune,
                scope=self.scope,
                upsample=upsample,
                size=size,
            )
        passes = read_input(
            "Decision",
            logits,
            mask,
            activation=self.activation,
            given=given,
            background=self.background,
            temperature=temperature,
            upsample=upsample,
            size=size,
        )
        gain, threshold = (torch.atleast_2d(one.to(passes.values.device)) for one in (self.gain, self.threshold))
        wanted = (passes.groups, passes.classes)
        if tuple(gain.shape) != wanted:
            raise ValueError(
                f"Decision: the fitted rule is for {tuple(gain.shape)} channels and classes, these logits have "
                f"{wanted}. Fit the decision anew."
            )
        return passes.label(Rule(gain, threshold).for_images(passes.images))

    def number(self) -> float:
        """The temperature; read from its buffer only when that has changed, since a GPU makes the host wait for it."""
        state = (id(self.temperature), None if self.temperature.is_inference() else self.temperature._version)
        if state != self._read_at or state[1] is None:
            self.__dict__["_read_at"], self.__dict__["_number"] = state, float(self.temperature)
        return self._number

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # A fitted rule has as many entries as classes; an empty one takes any.
        for name in ("gain", "threshold"):
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name], device=getattr(self, name).device))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def __repr__(self) -> str:
        shown = [repr(self.metric)]
        defaults = {"activation": "softmax", "background": 0, "temperature": 1.0, "prune": 0.5, "scope": "image"}
        for name, default in defaults.items():
            value = getattr(self, name)
            if name == "temperature":
                value = self.number()
            if value != default:
                shown.append(f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}")
        return f"Decision({', '.join(shown)})"
