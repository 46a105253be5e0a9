"""Which sums the pass can take. Every loss is a function of these."""

from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """The sums over pixels i of image n, for region k; y is the target, p(τ) = softmax(τ z)."""

    COUNT = 0
    """Σ y_ik over valid pixels."""
    PIXELS = 1
    """The number of valid pixels |Ω_n|, the same for every k."""
    FOCAL = 2
    """Σ −y_ik (1 − p_ik)^γ log p_ik over valid pixels; γ = 0 is the negative log-likelihood."""
    OVERLAP = 3
    """Σ min(p_ik, y_ik) over valid pixels, which is p summed over the region for hard labels."""
    SIZE = 4
    """Σ p_ik(τ) over valid pixels."""
    KEPT_PIXELS = 5
    """The number of pixels that the mask keeps, labelled or not."""
    KEPT_SIZE = 6
    """Σ p_ik(τ) over the pixels that the mask keeps, labelled or not."""


class Field(NamedTuple):
    """One sum: its kind and, for focal and size sums, the exponent γ or the temperature τ."""

    kind: Kind
    parameter: float = 0.0

    def __str__(self) -> str:
        if self == NLL:
            return "nll"
        if self == SIZE:
            return "size"
        name = "tempered_size" if self.kind == Kind.SIZE else self.kind.name.lower()
        symbol = {Kind.FOCAL: "gamma", Kind.SIZE: "temperature", Kind.KEPT_SIZE: "temperature"}.get(self.kind)
        return f"{name}({symbol}={self.parameter:g})" if symbol else name


COUNT = Field(Kind.COUNT)
PIXELS = Field(Kind.PIXELS)
NLL = Field(Kind.FOCAL, 0.0)
OVERLAP = Field(Kind.OVERLAP)
SIZE = Field(Kind.SIZE, 1.0)
KEPT_PIXELS = Field(Kind.KEPT_PIXELS)
NUMBERS_OF_PIXELS = (COUNT, PIXELS, KEPT_PIXELS)


def focal(gamma: float) -> Field:
    """The focal sum with exponent ``gamma``."""
    return Field(Kind.FOCAL, float(gamma))


def tempered_size(temperature: float) -> Field:
    """The size sum of softmax(``temperature`` · z) over valid pixels."""
    return Field(Kind.SIZE, float(temperature))


def kept_size(temperature: float) -> Field:
    """The size sum of softmax(``temperature`` · z) over every pixel that the mask keeps."""
    return Field(Kind.KEPT_SIZE, float(temperature))
