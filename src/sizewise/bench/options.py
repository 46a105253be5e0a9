"""What is to be measured, from the words of a command line."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

import torch

from sizewise.errors import BadInput
from sizewise.losses import ALIASES, loss_names

SHAPES = {
    "cpu": ((8, 2, 512, 512), (2, 19, 512, 1024), (2, 16, 48, 96, 96)),
    "cuda": ((8, 2, 512, 512), (8, 19, 512, 1024), (2, 3, 128, 128, 128), (2, 16, 96, 160, 160)),
}
OUR_LOSSES = ("RCE", "CE", "DiceCE")
# Half-precision networks are trained with small label maps; the pairs that the kernels are tuned for.
DTYPES = {"float32": (torch.float32, torch.int64), "bfloat16": (torch.bfloat16, torch.uint8)}
LAYOUTS = ("contiguous", "channels_last")
OF_COMPONENTS = ("CC-Dice", "CC-DiceCE")  # random labels have a component in every pixel: nothing to time


@dataclass(frozen=True)
class BenchInput:
    """What losses are timed on.

    Attributes:
        shape: of the logits, (N, K, *S).
        dtype: of the logits, with the labels that go with it: a key of ``DTYPES``.
        layout: of the logits in memory: one of ``LAYOUTS``.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    layout: str = "contiguous"

    def __str__(self) -> str:
        label = str(DTYPES[self.dtype][1]).removeprefix("torch.")
        return f"{' × '.join(map(str, self.shape))}, {self.dtype} logits ({self.layout}), {label} labels"


def parse_shapes(texts: Sequence[str]) -> list[tuple[int, ...]]:
    """Shapes of logits from texts as ``8x2x512x512``.

    >>> parse_shapes(["1x3x16x16"])
    [(1, 3, 16, 16)]
    """
    shapes = []
    for text in texts:
        try:
            shape = tuple(int(size) for size in text.lower().split("x"))
        except ValueError:
            shape = ()
        if len(shape) < 3 or min(shape) < 1 or shape[1] < 2:
            raise BadInput(
                f"bench: --shape must be images x classes x pixels along each axis, as 8x2x512x512, with at least two "
                f"classes, got {text!r}."
            )
        shapes.append(shape)
    return shapes


def parse_inputs(shapes: Sequence[str], *, dtype: str, layout: str, device: str | None) -> list[BenchInput]:
    """Every shape with every dtype and layout; without shapes the usual ones of the device.

    >>> [str(one) for one in parse_inputs(["1x3x8x8"], dtype="bfloat16", layout="channels_last", device="cpu")]
    ['1 × 3 × 8 × 8, bfloat16 logits (channels_last), uint8 labels']
    """
    chosen = parse_shapes(shapes) or SHAPES[choose_device(device)]
    dtypes, layouts = _parse_words(dtype, DTYPES, "--dtype"), _parse_words(layout, LAYOUTS, "--layout")
    return [BenchInput(*one) for one in product(chosen, dtypes, layouts)]


def parse_losses(text: str) -> tuple[str, ...]:
    """Names of our losses, RCE first, which all are compared with.

    >>> parse_losses("CE,Dice")
    ('RCE', 'CE', 'Dice')
    """
    names = tuple(name.strip() for name in text.split(","))
    if text == "all":
        names = (*ALIASES, *(name for name in loss_names() if name not in (*ALIASES.values(), *OF_COMPONENTS)))
    for name in names:
        if name in OF_COMPONENTS:
            raise BadInput(
                f"bench: {name} counts connected components, of which the random labels of a benchmark have one in "
                "every pixel; benchmarks/components.py in the repository times it on blobs. Leave it out of --losses."
            )
        if name not in (*loss_names(), *ALIASES):
            known = ", ".join((*ALIASES, *loss_names()))
            raise BadInput(f"bench: --losses must name losses, or be all, got {name!r}; the losses are {known}.")
    return tuple(dict.fromkeys(("RCE", *names)))


def _parse_words(text: str, known: Collection[str], flag: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if unknown := [name for name in names if name not in known]:
        raise BadInput(f"bench: {flag} must be of {', '.join(known)}, comma-separated, got {unknown[0]!r}.")
    return names


def choose_device(name: str | None) -> str:
    """``name``, or a GPU if there is one."""
    if name is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name not in SHAPES:
        raise BadInput(f"bench: --device must be cpu or cuda, got {name!r}.")
    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput("bench: --device cuda was asked for, but torch finds no GPU here. Use --device cpu.")
    return name
