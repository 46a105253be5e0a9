"""The page: everything in one file that opens without a network."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from sizewise.report.chart import VERDICT, Figure, LeftOut
from sizewise.report.draw import MOST_FILES
from sizewise.report.formatted_table import Table, to_latex
from sizewise.report.gallery import script_safe
from sizewise.report.verdict import VerdictGroup

LISTED_ROWS = 150  # of the numbers behind a figure, on the page; all are in its CSV
SCRIPTS = ("theme.js", "axes.js", "chart.js", "figures.js", "tables.js", "tabs.js", "gallery.js")
DEFAULTS = {
    "label": "",
    "listed": True,
    "dashed": False,
    "faint": False,
    "thick": False,
    "hollow": False,
    "anchor": "start",
    "text": (),
    "low": (),
    "high": (),
}
PANEL_DEFAULTS = {
    "y_ends": (),
    "x_log": False,
    "y_log": False,
    "x_whole": False,
    "x_range": None,
    "y_range": None,
    "bare": False,
    "stretch": False,
}


@dataclass(frozen=True)
class FigureOnPage:
    """A figure, the rows that the page lists, and the JSON that its script reads."""

    figure: Figure
    listed: Sequence[Sequence[str]]
    json: Any

    @property
    def unwritten(self) -> bool:
        """Whether it has more views than are drawn unless asked for."""
        return len(self.figure.views) > MOST_FILES


@dataclass(frozen=True)
class FigureSection:
    """A tab of figures."""

    title: str
    figures: Sequence[FigureOnPage]
    left_out: Sequence[LeftOut]


@dataclass(frozen=True)
class Page:
    """All that the page shows, in its order."""

    title: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[tuple[str, str]]
    verdict: Sequence[VerdictGroup]
    leading: Sequence[FigureOnPage]
    alerts: Sequence[str]
    score_tables: Sequence[Table]
    comparison_tables: Sequence[Table]
    figure_sections: Sequence[FigureSection]
    class_tables: Sequence[Table]
    gallery: Sequence[dict[str, Any]]
    gallery_note: str
    error_swatches: Sequence[tuple[str, str]]
    paper_tables: Sequence[Table]
    paper_note: str
    protocol: Sequence[tuple[str, str]]
    commands: Sequence[str]
    protocol_tables: Sequence[Table]
    methods: Sequence[str]


def render(page: Page) -> str:
    """The HTML of a study's report."""
    from markupsafe import Markup

    gallery = script_safe(json.dumps(page.gallery, separators=(",", ":"), allow_nan=False))
    return fill("report.html.j2", page=page, gallery_json=Markup(gallery), to_latex=to_latex)


def fill(template: str, **values: Any) -> str:
    """A template of the folder ``page`` with its style and scripts.

    Every word of the user's is escaped: by the template in the page, by ``script_safe`` in scripts.
    """
    from sizewise.errors import import_extra

    import_extra("jinja2", extra="train", reason="the report")
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FunctionLoader(page_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        style=Markup(page_file("style.css")),
        script=Markup("\n".join(page_file(name) for name in SCRIPTS)),
        **values,
    )


def page_file(name: str) -> str:
    """A file of the folder ``page``."""
    return files("sizewise.report").joinpath("page", name).read_text(encoding="utf-8")


def figure_on_page(figure: Figure) -> FigureOnPage:
    """A figure as the page takes it; what is at its default is not written."""
    from markupsafe import Markup

    content = {
        "title": figure.title,
        "height": figure.height,
        "names_down": figure.names_down,
        "views": [{"label": view.label, "panels": [_panel(panel) for panel in view.panels]} for view in figure.views],
    }
    listed = [[_cell(value) for value in row] for row in figure.rows[:LISTED_ROWS]]
    text = script_safe(json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=False))
    return FigureOnPage(figure, listed, Markup(text))


def figure_sections(figures: Sequence[Figure | LeftOut]) -> list[FigureSection]:
    """The figures by tab, in the order of their first figures, without those of the verdict."""
    sections = []
    for title in dict.fromkeys(one.section for one in figures if one.section != VERDICT):
        mine = [one for one in figures if one.section == title]
        drawn = [figure_on_page(one) for one in mine if isinstance(one, Figure)]
        sections.append(FigureSection(title, drawn, [one for one in mine if isinstance(one, LeftOut)]))
    return sections


def leading_figures(figures: Sequence[Figure | LeftOut]) -> list[FigureOnPage]:
    """Those that belong to the verdict; one that is left out is not missed there, as the verdict says why."""
    return [figure_on_page(one) for one in figures if isinstance(one, Figure) and one.section == VERDICT]


def _panel(panel: Any) -> dict[str, Any]:
    content = {name: getattr(panel, name) for name in panel.__dataclass_fields__ if name != "marks"}
    content = {
        name: value for name, value in content.items() if name not in PANEL_DEFAULTS or value != PANEL_DEFAULTS[name]
    }
    content["marks"] = [
        {name: value for name, value in vars(mark).items() if name not in DEFAULTS or value != DEFAULTS[name]}
        for mark in panel.marks
    ]
    return content


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
