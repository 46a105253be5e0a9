"""What a figure shows, as data. Two painters read it: ``draw`` (SVG and PNG) and ``page/chart.js`` (the page).

Every shape is made of lines, points, filled areas and words in two coordinates: a violin is an area, a radar is a few
closed lines. So each painter knows four things, and a figure looks the same on paper and on the page.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Kind = Literal["line", "points", "area", "words"]
VERDICT = "Verdict"  # the section of what the page shows at its top


@dataclass(frozen=True)
class Mark:
    """One line, cloud of points, filled area, or set of words.

    Attributes:
        kind: which.
        x: positions; None breaks a line.
        y: likewise.
        label: its name in the legend; marks with one label are shown and hidden together. Empty: always shown.
        style: number of the colour, marker and dash; −1 is grey.
        low: lower ends of error bars, of points; a whisker may be missing (None).
        high: upper ends.
        text: what hovering over each point says; of words, the words.
        listed: whether the legend lists it; one mark per label is enough.
        dashed: whether the line is dashed.
        faint: drawn light: raw data behind a summary.
        thick: a line as a bar.
        hollow: points as outlines: what is not shown.
        anchor: of words: "start", "middle" or "end".
    """

    kind: Kind
    x: Sequence[float | None]
    y: Sequence[float | None]
    label: str = ""
    style: int = -1
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    text: Sequence[str] = ()
    listed: bool = True
    dashed: bool = False
    faint: bool = False
    thick: bool = False
    hollow: bool = False
    anchor: Literal["start", "middle", "end"] = "start"


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        marks: what is drawn, in order.
        title: above it.
        x_label: with the unit.
        y_label: with the unit.
        x_ticks: (position, name) for categories; empty: numbers.
        y_ticks: likewise.
        y_ends: (position, words) at the right of the panel, such as the mean of each row.
        x_log: logarithmic.
        y_log: likewise.
        x_whole: ticks at whole numbers only.
        y_range: fixed limits.
        x_range: fixed limits.
        bare: without axes, as a radar; one unit is as long in x as in y unless ``stretch``.
        stretch: a bare panel that fills its frame.
    """

    marks: Sequence[Mark]
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    x_ticks: Sequence[tuple[float, str]] = ()
    y_ticks: Sequence[tuple[float, str]] = ()
    y_ends: Sequence[tuple[float, str]] = ()
    x_log: bool = False
    y_log: bool = False
    x_whole: bool = False
    y_range: tuple[float, float] | None = None
    x_range: tuple[float, float] | None = None
    bare: bool = False
    stretch: bool = False


@dataclass(frozen=True)
class View:
    """One state of a figure: the panels for one data set or class."""

    label: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Figure:
    """A figure with the numbers behind it.

    Attributes:
        name: of its files.
        title: a few words.
        caption: how to read it.
        section: where the page shows it.
        views: at least one.
        columns: of the table behind it.
        rows: of that table.
        choose: what the views differ in, as "class"; empty where there is one view.
        height: of a panel, relative to its width on paper.
        names_down: how many names stand at the side of a panel; they give it its height, whatever its width. 0: none.
    """

    name: str
    title: str
    caption: str
    section: str
    views: Sequence[View]
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]] = field(repr=False)
    choose: str = ""
    height: float = 0.7
    names_down: int = 0


@dataclass(frozen=True)
class LeftOut:
    """A figure whose data do not exist, and the sentence that says so."""

    name: str
    title: str
    section: str
    why: str


def numbers(values: Iterable[Any]) -> list[float | None]:
    """Plain floats of five significant digits, which is finer than a pixel; what is not a number is None.

    >>> numbers([0.1234567, float("nan"), 3])
    [0.12346, None, 3.0]
    """
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in map(float, values)]
