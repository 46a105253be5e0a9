"""Numbers in sentences."""


def counted(number: int, what: str, plural: str = "") -> str:
    """The number with its noun.

    >>> counted(1, "case"), counted(2, "case"), counted(0, "mask has", "masks have")
    ('1 case', '2 cases', '0 masks have')
    """
    return f"{number} {what if number == 1 else plural or what + 's'}"


def clock(seconds: float) -> str:
    """A time span for the screen.

    >>> clock(75), clock(3 * 3600 + 61)
    ('1:15', '3:01:01')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
