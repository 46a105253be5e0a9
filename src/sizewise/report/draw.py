"""Paint a figure with matplotlib, as SVG and PNG."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sizewise.files import write_whole
from sizewise.outside_names import plain_letters
from sizewise.palette import OKABE_ITO
from sizewise.progress import track
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View
from sizewise.report.formatted_table import to_csv

COLOURS = (*OKABE_ITO, "#5C5C5C", "#8B6D00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)))
GREY = "#8A8A8A"
MOST_IN_LEGEND = 24
FEW_DOTS = 60
LONGEST_NAME = 28
MOST_FILES = 4  # views of one figure on paper; the page has them all
STATIC_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sizewise",
    "font.size": 9,
    "text.usetex": False,
}


def file_names(figure: Figure, *, every_view: bool = False) -> list[tuple[str, View]]:
    """The stem of each file that a figure becomes, and the view on it; drawing takes time, so usually the first few.

    >>> one = Figure("violins", "", "", "", [View("a b", []), View("c/d", [])], [], [], choose="class")
    >>> [name for name, _ in file_names(one)]
    ['violins-a_b', 'violins-c_d']
    """
    if len(figure.views) == 1:
        return [(figure.name, figure.views[0])]
    stems: dict[str, View] = {}
    for view in figure.views if every_view else figure.views[:MOST_FILES]:
        stem = f"{figure.name}-{plain_letters(view.label)[:80]}"
        stems[stem if stem not in stems else f"{stem}-{len(stems)}"] = view
    return list(stems.items())


def draw_all(figures: Sequence[Figure | LeftOut], folder: Path, *, every_view: bool = False) -> None:
    """Write every figure that was not left out, and the numbers behind it as ``folder/NAME.csv``."""
    for figure in track(figures, what="figures"):
        if isinstance(figure, Figure):
            draw(figure, folder, every_view=every_view)
            write_whole(folder / f"{figure.name}.csv", to_csv(figure.columns, figure.rows))


def draw(figure: Figure, folder: Path, *, every_view: bool = False) -> list[Path]:
    """Write ``folder/NAME.svg`` and ``.png``, one pair per view; returns the paths."""
    from matplotlib import rc_context

    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(STATIC_STYLE):
        for stem, view in file_names(figure, every_view=every_view):
            canvas = paint(view, title=figure.title, height=figure.height, names_down=figure.names_down)
            for ending, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 130})):
                paths.append(folder / f"{stem}.{ending}")
                canvas.savefig(paths[-1], **options)
    return paths


def paint(view: View, *, title: str, height: float, names_down: int = 0) -> Any:
    """The matplotlib figure of one view."""
    from matplotlib.figure import Figure as Canvas

    count = len(view.panels)
    columns = min(count, 3)
    rows = -(-count // columns)
    width = 6.4 if count == 1 else 3.9 * columns
    labels = list(dict.fromkeys(m.label for panel in view.panels for m in panel.marks if m.label and m.listed))
    across = max(1, int(width / (0.075 * min(LONGEST_NAME, max(map(len, labels), default=1)) + 0.6)))
    named = {name for panel in view.panels for _, name in panel.x_ticks}  # ticks that name the marks need no legend
    legend_rows = -(-len(labels) // across) if len(labels) <= MOST_IN_LEGEND and not set(labels) <= named else 0
    bottom, top = 0.62 + 0.2 * legend_rows + (0.75 if any(map(_turned, view.panels)) else 0), 0.58
    between = bottom - 0.2 * legend_rows + 0.25
    tall = rows * (0.25 * names_down + 0.2 if names_down else height * width / columns) + top + bottom
    names = max((len(name) for panel in view.panels for _, name in panel.y_ticks), default=0)
    left = 0.7 + 0.065 * min(names, 30)
    right = 0.15 + 0.065 * max((len(words) for panel in view.panels for _, words in panel.y_ends), default=0)
    canvas = Canvas(figsize=(width, tall))
    grid = canvas.subplots(rows, columns, squeeze=False).ravel()
    # margins by rule, in inches: matplotlib's own layout engines take longer than the drawing
    panel_width, panel_height = (width - left) / columns - 0.2, (tall - top - bottom) / rows
    canvas.subplots_adjust(
        left=left / width,
        right=1 - right / width,
        top=1 - top / tall,
        bottom=bottom / tall,
        wspace=0.75 / max(0.5, panel_width - 0.6),
        hspace=between / max(0.5, panel_height - between),
    )
    for number, (axes, panel) in enumerate(zip(grid, view.panels, strict=False)):
        _paint_panel(axes, panel)
        if number % columns and panel.y_range and panel.y_range == view.panels[number - 1].y_range:
            axes.tick_params(labelleft=False)  # its neighbour has the same scale
            axes.set_ylabel("")
    for axes in grid[count:]:
        axes.set_visible(False)
    handles: dict[str, Any] = {}
    for axes in grid[:count]:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    _add_markers(handles, view)
    if legend_rows and handles:
        shown = [short(label) for label in handles]
        canvas.legend(list(handles.values()), shown, loc="lower center", ncols=across, frameon=False, fontsize=8)
    heading = title + (f": {view.label}" if view.label else "")
    canvas.text(0.12 / width, 1 - 0.1 / tall, plain(heading), fontsize=10, va="top")
    return canvas


def _add_markers(handles: dict[str, Any], view: View) -> None:
    """A line whose points are marked is so in the legend too: without colours the marker tells them apart."""
    from matplotlib.lines import Line2D

    marks = [mark for panel in view.panels for mark in panel.marks if mark.kind == "points" and not mark.faint]
    styles = {mark.label: mark.style for mark in marks}
    for label, handle in handles.items():
        if label in styles and isinstance(handle, Line2D) and handle.get_linestyle() != "None":
            both = Line2D([], [], color=handle.get_color(), linestyle=handle.get_linestyle(), linewidth=1.5)
            both.set(marker=_marker(styles[label]), markersize=5)
            handles[label] = both


def plain(text: str) -> str:
    r"""Words of the user's without the letters that matplotlib reads as formulas, and without control characters.

    >>> print(plain("a$b$"))
    a\$b\$
    """
    return "".join(letter for letter in text if letter.isprintable()).replace("$", r"\$")


def short(name: str) -> str:
    """A name for a tick or the legend: on paper there is no room for a long one.

    >>> short("x" * 40) == "x" * 27 + "…", short("RCE")
    (True, 'RCE')
    """
    return plain(name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…")


def _paint_panel(axes: Any, panel: Panel) -> None:
    for mark in panel.marks:
        _paint_mark(axes, mark)
    axes.set_title(plain(panel.title), fontsize=9, loc="left")
    if panel.bare:
        axes.set_axis_off()
        axes.set_aspect("auto" if panel.stretch else "equal")
        axes.margins(0.12)
    else:
        axes.set_xlabel(plain(panel.x_label))
        axes.set_ylabel(plain(panel.y_label))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#E6E6E6", linewidth=0.6)
        axes.set_axisbelow(True)
    for log, axis in ((panel.x_log, axes.xaxis), (panel.y_log, axes.yaxis)):
        if log:
            _log_ticks(axis)
    if panel.x_whole:
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if panel.x_ticks:
        turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if _turned(panel) else {}
        axes.set_xticks([at for at, _ in panel.x_ticks], [short(name) for _, name in panel.x_ticks], **turned)
        axes.minorticks_off()
    if panel.y_ticks:
        axes.set_yticks([at for at, _ in panel.y_ticks], [short(name) for _, name in panel.y_ticks])
    for at, words in panel.y_ends:
        axes.text(1.01, at, plain(words), transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    if panel.y_range:
        axes.set_ylim(*panel.y_range)
    if panel.x_range:
        axes.set_xlim(*panel.x_range)


def _marker(style: int) -> str:
    """Another one where the colours start again, so that no two of 64 losses look the same."""
    return "o" if style < 0 else MARKERS[(style + 3 * (style // len(COLOURS))) % len(MARKERS)]


def _log_ticks(axis: Any) -> None:
    """1, 2 and 5 of every decade, as plain numbers: a decade's powers alone leave short axes without a number."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _turned(panel: Panel) -> bool:
    """Whether the names under the axis are too long to lie flat."""
    return bool(panel.x_ticks) and max(len(name) for _, name in panel.x_ticks) * len(panel.x_ticks) > 60


def _paint_mark(axes: Any, mark: Mark) -> None:
    colour = GREY if mark.style < 0 else COLOURS[mark.style % len(COLOURS)]
    label = mark.label if mark.listed and mark.label else None
    gap = float("nan")
    x, y = ([gap if value is None else value for value in values] for values in (mark.x, mark.y))
    if mark.kind == "line":
        dash = "--" if mark.dashed else ("-" if mark.style < 0 else DASHES[mark.style // len(COLOURS) % len(DASHES)])
        width = 4.0 if mark.thick else 0.9 if mark.style < 0 or mark.faint else 1.5
        axes.plot(x, y, color=colour, linestyle=dash, linewidth=width, label=label, alpha=0.45 if mark.faint else 1)
    elif mark.kind == "area":
        axes.fill(x, y, color=colour, alpha=0.22, linewidth=0, label=label)
    elif mark.kind == "points":
        marker = _marker(mark.style)
        small = 3 if len(x) > FEW_DOTS else 4.5  # few dots are seen by their size
        faint = {"markersize": small, "alpha": 0.45, "markeredgewidth": 0} if mark.faint else {"markersize": 5}
        filled = {"markerfacecolor": "white"} if mark.hollow else {}
        axes.plot(x, y, linestyle="", marker=marker, color=colour, label=label, **faint, **filled)
        whiskers = [(at, low, high) for at, low, high in zip(x, mark.low, mark.high, strict=False) if low is not None]
        if whiskers:
            axes.vlines(*zip(*whiskers, strict=True), color=colour, linewidth=1.2)
    else:
        side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
        ink = "#333333" if mark.style < 0 else colour
        for at, height, word in zip(x, y, mark.text, strict=True):
            axes.text(at, height, plain(word), ha=side, va="center", fontsize=8, color=ink)
