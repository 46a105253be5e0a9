"""Setting the numbers of a decomposition as text."""

GROUPS = ("size", "cross-entropy", "log-Dice")
COLUMNS = ("true", "predicted", "error", "matching", "bias", "pull", "matching", "bias", "pull")
GAP = "  "
LEGEND = "pull: what the bias alone does to the size of a region, + larger, - smaller"


def aligned(title: str, rows: list[list[str]]) -> list[str]:
    """The rows under two lines of headings; labels to the left, the nine columns of numbers to the right."""
    table = [["region", *COLUMNS], *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    widths[0] = max(widths[0], len(title))
    groups = [sum(widths[first : first + 3]) + 2 * len(GAP) for first in (1, 4, 7)]
    heading = [title.ljust(widths[0]), *(name.center(width) for name, width in zip(GROUPS, groups, strict=True))]
    lines = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in table]
    return [GAP.join(line).rstrip() for line in (heading, *lines)]


def number(value: float, sign: str = "") -> str:
    """Three significant digits; what rounding leaves of a zero is 0.

    >>> number(0.123456), number(0.25, "+"), number(-3e-9)
    ('0.123', '+0.25', '0')
    """
    return "0" if abs(value) < 1e-7 else f"{value:{sign}.3g}"


def sum_line(name: str, values: list[float], reduction: str) -> str:
    """A loss as the sum of its parts.

    >>> sum_line("log-Dice", [0.5, 1, -1, 0.5], "mean over regions")
    'log-Dice 0.5 = matching 1 + bias -1 + constant 0.5 (mean over regions)'
    """
    total, matching, bias, constant = map(number, values)
    return f"{name} {total} = matching {matching} + bias {bias} + constant {constant} ({reduction})"
