"""Numbers and lists as the page writes them."""

import re
from collections.abc import Sequence

from sections.contrasts import Contrast
from sizewise.report.formatted_table import Table, to_markdown
from sizewise.report.judgement import TICKS, judge
from sizewise.report.verdict import listed
from sizewise.study.statistics.paired import Comparison
from sizewise.wording import counted

DIGITS = 2
NO_VALUE = "–"
NO_BREAK = "\N{NO-BREAK SPACE}"


def signed(value: float, digits: int = DIGITS) -> str:
    """With its sign, and no minus zero.

    >>> signed(0.251), signed(-0.001), signed(-1.5, 1)
    ('+0.25', '0.00', '−1.5')
    """
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def span(low: float, high: float, digits: int = DIGITS) -> str:
    """An interval; see :func:`table`."""
    return f"[{signed(low, digits)}, {signed(high, digits)}]"


def difference(one: Comparison | None, digits: int = DIGITS) -> str:
    """A difference on one set: with a tick where it is shown, and its interval where there may be one."""
    if one is None:
        return NO_VALUE
    scale = one.metric.scale
    if one.refused:
        return signed(scale * one.estimate, digits)
    tick = TICKS.get(judge(one, from_elsewhere=False), "")
    ends = span(scale * one.low, scale * one.high, digits)
    return " ".join(filter(None, (signed(scale * one.estimate, digits), tick, ends)))


def mean_difference(one: Contrast | None, digits: int = DIGITS, *, of: int = 0) -> str:
    """The mean over sets with its interval for new runs on these sets, and how many they are where not ``of``."""
    if one is None:
        return NO_VALUE
    scale = one.usable[0].metric.scale
    fewer = "" if of in (0, one.sets) else f" ({counted(one.sets, 'set')})"
    return f"{signed(scale * one.estimate, digits)} {span(scale * one.low, scale * one.high, digits)}{fewer}"


def other_sets(one: Contrast | None, digits: int = DIGITS) -> str:
    """The interval for sets like these."""
    if one is None or one.other_low is None or one.other_high is None:
        return NO_VALUE
    scale = one.usable[0].metric.scale
    return span(scale * one.other_low, scale * one.other_high, digits)


def points(one: Contrast) -> str:
    """In a sentence: «0.42 points more (95 % interval 0.10 to 0.74)»."""
    scale = one.usable[0].metric.scale
    low, high = scale * one.low, scale * one.high
    size = scale * one.estimate
    if size < 0:
        low, high = -high, -low
    word = "more" if size >= 0 else "less"
    ends = f"{signed(low)} to {signed(high)}".replace("+", "")
    return f"{abs(size):.{DIGITS}f} points {word} (95 % interval {ends})"


def on_sets(titles: Sequence[str], of: int) -> str:
    """«on DRIVE and IDRiD», «on none», «on all 7»."""
    if not titles:
        return "on none"
    if len(titles) == of and of > 1:
        return f"on all {of}"
    return f"on {listed(list(titles))}"


def table(one: Table) -> list[str]:
    """Lines of a table under its title, where it has one. No line break tears a spread or an interval apart."""
    title = [f"**{one.title}**", ""] if one.title else []
    note = ["", one.note] if one.note else []
    text = to_markdown(one).replace(" ± ", f"{NO_BREAK}±{NO_BREAK}").replace(" → ", f"{NO_BREAK}→ ")
    text = re.sub(r"(\\\[[−+.0-9]+,) ", rf"\1{NO_BREAK}", text)
    return [*title, text, *note, ""]


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Lines that a reader may open."""
    return ['<details markdown="1">', f"<summary>{title}</summary>", "", *lines, "</details>", ""]
