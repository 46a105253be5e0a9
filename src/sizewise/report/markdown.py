"""``report.md``: the same verdict and tables, with links to the figures, for a repository or a message."""

from collections.abc import Sequence

from sizewise.report.draw import file_names
from sizewise.report.formatted_table import Table, markdown_text, to_markdown
from sizewise.report.page import FigureOnPage, Page


def report_markdown(page: Page, *, every_view: bool = False) -> str:
    """The report as Markdown; ``every_view`` as the figures were drawn."""
    lines = [f"# {markdown_text(page.title)}", "", "## Verdict", ""]
    for group in page.verdict:
        if group.title:
            lines += [f"### {markdown_text(group.title)}", ""]
        if group.lead:
            lines += [f"**{markdown_text(group.lead)}**", ""]
        lines += [f"- {markdown_text(sentence)}" for sentence in (*group.claims, *group.sentences)] + [""]
    for one in page.leading:
        lines += _figure(one, every_view=every_view)
    lines += [f"> {markdown_text(alert)}\n" for alert in page.alerts]
    lines += ["## Scores", "", *_tables((*page.score_tables, *page.comparison_tables))]
    if page.class_tables:
        lines += ["## Classes", "", *_tables(page.class_tables)]
    lines += ["## Figures", ""]
    for section in page.figure_sections:
        for one in section.figures:
            lines += _figure(one, every_view=every_view)
        lines += [f"{markdown_text(one.title)}: left out, since {markdown_text(one.why)}\n" for one in section.left_out]
    if page.paper_tables:
        lines += ["## Beside the paper", "", markdown_text(page.paper_note), "", *_tables(page.paper_tables)]
    lines += ["## Protocol", ""]
    lines += [f"- {markdown_text(name)}: {markdown_text(value)}" for name, value in page.protocol] + [""]
    if page.commands:
        lines += ["```sh", *(command.replace("```", "` ` `") for command in page.commands), "```", ""]
    lines += [*_tables(page.protocol_tables), *(f"{markdown_text(paragraph)}\n" for paragraph in page.methods)]
    return "\n".join(lines)


def _figure(one: FigureOnPage, *, every_view: bool) -> list[str]:
    pictures = [
        f"![{markdown_text(view.label)}](figures/{stem}.svg)"
        for stem, view in file_names(one.figure, every_view=every_view)
    ]
    return [f"### {markdown_text(one.figure.title)}", "", markdown_text(one.figure.caption), "", *pictures, ""]


def _tables(tables: Sequence[Table]) -> list[str]:
    lines: list[str] = []
    for table in tables:
        lines += [f"### {markdown_text(table.title)}", "", to_markdown(table), ""]
        lines += [markdown_text(table.note), ""] if table.note else []
    return lines
