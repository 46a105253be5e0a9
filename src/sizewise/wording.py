"""Numbers in sentences."""


def counted(number: int, what: str, plural: str = "") -> str:
    """The number with its noun.

    >>> counted(1, "case"), counted(2, "case"), counted(0, "mask has", "masks have")
    ('1 case', '2 cases', '0 masks have')
    """
    return f"{number} {what if number == 1 else plural or what + 's'}"
