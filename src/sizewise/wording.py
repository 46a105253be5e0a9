"""Numbers and names in sentences."""

from collections.abc import Sequence


def counted(number: int, what: str, plural: str = "") -> str:
    """The number with its noun.

    >>> counted(1, "case"), counted(2, "case"), counted(0, "mask has", "masks have")
    ('1 case', '2 cases', '0 masks have')
    """
    return f"{number} {what if number == 1 else plural or what + 's'}"


def few(names: Sequence[object], most: int = 5) -> str:
    """The first names, and how many more there are.

    >>> few(["a", "b"]), few([1, 2, 3, 4], most=2)
    ('a, b', '1, 2 and 2 more')
    """
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Names as a sentence has them; with ``most`` the first few of many.

    >>> listed(["CE"]), listed(["CE", "Dice", "RCE"]), listed(["CE", "Dice", "RCE"], most=2)
    ('CE', 'CE, Dice and RCE', 'CE, Dice and 1 more')
    """
    if most is not None and len(names) > most:
        return few(names, most)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def size_word(sizes: Sequence[float]) -> str:
    """Sizes as they are given, with every digit.

    >>> size_word((64, 96)), size_word((1.5, 2.0, 0.78125001)), size_word(())
    ('64x96', '1.5x2x0.78125001', 'stored')
    """
    return "x".join(map(number_word, sizes)) or "stored"


def number_word(number: float) -> str:
    """A number that reads back as it was.

    >>> number_word(3e-05), number_word(2.0), number_word(0.12345678)
    ('3e-05', '2', '0.12345678')
    """
    return repr(number).removesuffix(".0")


def left_out(names: Sequence[str], what: str, plural: str) -> str:
    """A line on files that have no use here: the same wherever it is told.

    >>> left_out(["x.png"], "mask has no image", "masks have no image")
    '1 mask has no image, and is left out: x.png.'
    """
    return f"{counted(len(names), what, plural)}, and {'is' if len(names) == 1 else 'are'} left out: {few(names)}."


def clock(seconds: float) -> str:
    """A time span for the screen.

    >>> clock(75), clock(3 * 3600 + 61)
    ('1:15', '3:01:01')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
