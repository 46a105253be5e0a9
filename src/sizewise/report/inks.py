"""Colours and patterns of label maps over pictures: visible on any of them, and as many as there are classes.

No single colour can be seen on every picture: yellow vanishes on endoscopy, blue on stained tissue. What was missed is
therefore striped yellow and black, a false alarm red and white. Classes have a colour each; where there are more of
them than colours, the next ones are striped or dotted with black.
"""

from collections.abc import Sequence

import numpy as np

RIGHT, MISSED, FALSE_ALARM, WRONG_CLASS = "#0072B2", "#F0E442", "#D55E00", "#CC79A7"
BLACK, WHITE = "#111111", "#FFFFFF"
ERROR_INKS = (RIGHT, MISSED, FALSE_ALARM, WRONG_CLASS, BLACK, WHITE)
CLASS_COLOURS = (
    "#009E73", "#56B4E9", "#E69F00", "#9467BD", "#8C510A", "#A8ADB0",
    "#B8E62E", "#2B2FA8", "#FFB0DC", "#7F0000", "#00D5C8", "#FFEB99",
)  # fmt: skip
CLASS_INKS = (*CLASS_COLOURS, BLACK)
STRIPE_PX = 3
PATTERNS = ("", "rising", "falling", "dots")


def class_inks(labels: np.ndarray) -> np.ndarray:
    """(H, W) numbers into ``CLASS_INKS``, counted from 1; 0 is bare.

    >>> class_inks(np.array([[0, 1, 13, 13, 13, 13]])).tolist()
    [[0, 1, 1, 13, 13, 13]]
    """
    at = labels.astype(np.int64) - 1
    inks = at % len(CLASS_COLOURS) + 1
    for number, name in enumerate(PATTERNS[1:], start=1):
        patterned = at // len(CLASS_COLOURS) % len(PATTERNS) == number
        inks = np.where(patterned & pattern(name, labels.shape), len(CLASS_INKS), inks)
    return np.where(labels > 0, inks, 0).astype(np.uint8)


def error_inks(kinds: np.ndarray) -> np.ndarray:
    """(H, W) numbers into ``ERROR_INKS``, counted from 1, for what ``error_map`` gives; 0 is bare."""
    black, white = ERROR_INKS.index(BLACK) + 1, ERROR_INKS.index(WHITE) + 1
    inks = np.where((kinds == 2) & pattern("rising", kinds.shape), black, kinds)
    return np.where((kinds == 3) & pattern("falling", kinds.shape), white, inks).astype(np.uint8)


def pattern(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """(H, W) where the second ink goes."""
    y, x = np.indices(shape)
    if name == "dots":
        return (x // STRIPE_PX % 2 == 1) & (y // STRIPE_PX % 2 == 1)
    return (x + y if name == "rising" else x - y) // STRIPE_PX % 2 == 1


def class_swatch(class_id: int) -> str:
    """The CSS background of a class's square in a legend.

    >>> class_swatch(1), class_swatch(13)
    ('#009E73', 'repeating-linear-gradient(135deg, #009E73 0 3px, #111111 3px 6px)')
    """
    colour = CLASS_COLOURS[(class_id - 1) % len(CLASS_COLOURS)]
    return _swatch(colour, BLACK, PATTERNS[(class_id - 1) // len(CLASS_COLOURS) % len(PATTERNS)])


def error_swatches() -> list[tuple[str, str]]:
    """The CSS background and the word of each kind of pixel."""
    return [
        (RIGHT, "right"),
        (_swatch(MISSED, BLACK, "rising"), "missed"),
        (_swatch(FALSE_ALARM, WHITE, "falling"), "false alarm"),
        (WRONG_CLASS, "wrong class"),
    ]


def as_rgb(colours: Sequence[str]) -> np.ndarray:
    """(N, 3) bytes."""
    return np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours], dtype=np.uint8)


def _swatch(colour: str, other: str, name: str) -> str:
    if not name:
        return colour
    if name == "dots":
        return f"radial-gradient({other} 35%, {colour} 36%) 0 0 / 5px 5px"
    angle = 135 if name == "rising" else 45
    return f"repeating-linear-gradient({angle}deg, {colour} 0 3px, {other} 3px 6px)"
