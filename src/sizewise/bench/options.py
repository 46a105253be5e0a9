"""What is to be measured, from the words of a command line."""

from collections.abc import Sequence

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


def parse_losses(text: str) -> tuple[str, ...]:
    """Names of our losses, RCE first, which all are compared with.

    >>> parse_losses("CE,Dice")
    ('RCE', 'CE', 'Dice')
    """
    names = (
        tuple(name for name in loss_names() if name not in ALIASES.values())
        if text == "all"
        else tuple(name.strip() for name in text.split(","))
    )
    if text == "all":
        names = (*ALIASES, *names)
    for name in names:
        if name not in (*loss_names(), *ALIASES):
            known = ", ".join((*ALIASES, *loss_names()))
            raise BadInput(f"bench: --losses must name losses, or be all, got {name!r}; the losses are {known}.")
    return tuple(dict.fromkeys(("RCE", *names)))


def parse_dtypes(text: str) -> tuple[str, ...]:
    """Dtypes of the logits.

    >>> parse_dtypes("float32,bfloat16")
    ('float32', 'bfloat16')
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if unknown := [name for name in names if name not in DTYPES]:
        raise BadInput(f"bench: --dtype must be of {', '.join(DTYPES)}, comma-separated, got {unknown[0]!r}.")
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
