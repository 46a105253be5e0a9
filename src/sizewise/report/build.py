"""Make the report of a study folder: ``report.html``, ``report.md``, ``figures/`` and ``tables/``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.report.chart import Figure, LeftOut
from sizewise.report.cost_table import cost_table
from sizewise.report.draw import draw_all
from sizewise.report.figures.components_by_size import components_by_size
from sizewise.report.figures.critical import critical
from sizewise.report.figures.differences import decision_differences, differences
from sizewise.report.figures.distribution import violins
from sizewise.report.figures.error_by_size import error_by_size
from sizewise.report.figures.overlays import COLUMNS as OVERLAY_COLUMNS
from sizewise.report.figures.overlays import draw_overlays, overlay_rows
from sizewise.report.figures.radar import radar
from sizewise.report.figures.size_agreement import size_agreement
from sizewise.report.figures.validation_curves import validation_curves
from sizewise.report.figures.weights import temperature_curves, weight_curves
from sizewise.report.findings import Findings, read_findings
from sizewise.report.formatted_table import to_csv, to_latex
from sizewise.report.gallery import GALLERY_NOTE, ShownCase, page_gallery, shown_cases
from sizewise.report.inks import error_swatches
from sizewise.report.markdown import report_markdown
from sizewise.report.page import Page, figure_sections, leading_figures, render
from sizewise.report.paper import paper_note, paper_tables
from sizewise.report.protocol import protocol_facts, protocol_tables, study_commands
from sizewise.report.saved import Run
from sizewise.report.score_tables import class_tables, score_tables
from sizewise.report.scores import Scores
from sizewise.wording import counted

FIGURES: dict[str, Callable[[Findings], Figure | LeftOut]] = {  # in the order of the page
    "differences": lambda found: differences(
        found.conclusions.standings,
        found.scores.arm_names,
        from_elsewhere=found.scores.from_elsewhere,
        plural=found.scores.plural,
    ),
    "decisions": lambda found: decision_differences(
        found.conclusions.decisions, found.scores.arm_names, from_elsewhere=found.scores.from_elsewhere
    ),
    "violins": lambda found: violins(found.scores, found.conclusions),
    "weights": lambda found: weight_curves(found.scores, found.conclusions),
    "temperatures": lambda found: temperature_curves(found.scores, found.conclusions),
    "sizes": lambda found: size_agreement(found.scores, found.sizes),
    "size-errors": lambda found: error_by_size(found.scores, found.sizes),
    "component-recall": lambda found: components_by_size(found.scores),
    "critical-difference": lambda found: critical(
        found.conclusions.arranged, found.scores.arm_names, what=found.scores.what, plural=found.scores.plural
    ),
    "radar": lambda found: radar(found.scores),
    "validation": lambda found: validation_curves(found.runs, found.scores.arm_names),
}


@dataclass(frozen=True)
class Report:
    """All that is written: the page, the figures, and the cases that have pictures."""

    page: Page
    figures: Sequence[Figure | LeftOut]
    shown: Mapping[str, list[ShownCase]]


def build_report(
    study: Path, *, out: Path | None = None, reference: str = "", metric: str = "dsc", every_view: bool = False
) -> Path:
    """Make the report from what was saved, without training anything.

    Args:
        study: a study folder, with study.json and results.csv.
        out: where the report goes; None: into the study folder.
        reference: the loss that the others are compared with; empty: the study's.
        metric: what the statistics compare: a score of ``sizewise.metrics.registry``.
        every_view: draw each figure for every data set and class, not for the first few; the page has them all anyway.

    Returns:
        the path of report.html.

    Raises:
        BadInput: what is wrong with the folder or its files.
    """
    return write_report(assemble(study, reference=reference, metric=metric), out or study, every_view=every_view)


def assemble(study: Path, *, reference: str = "", metric: str = "dsc", command: str = "") -> Report:
    """Read a study and make the parts of its report; nothing is written. ``command`` is how it was asked for."""
    found = read_findings(study, reference=reference, metric=metric)
    figures = [make(found) for make in FIGURES.values()]
    shown = shown_cases(found.pictured, found.scores)
    return Report(make_page(found, figures, shown, study=study, command=command), figures, shown)


def make_page(
    found: Findings,
    figures: Sequence[Figure | LeftOut],
    shown: Mapping[str, list[ShownCase]],
    *,
    study: Path,
    command: str = "",
) -> Page:
    """Put the parts in the order of the page."""
    scores, runs, conclusions = found.scores, found.runs, found.conclusions
    classes = class_tables(scores, found.sizes)
    beside = paper_tables(scores)
    costs = cost_table(runs, scores)
    sections = [("verdict", "Verdict"), ("scores", "Scores"), ("figures", "Figures"), ("classes", "Classes")]
    sections += [("cases", "Cases"), ("paper", "Paper"), ("protocol", "Protocol")]
    kept = {"classes": bool(classes), "paper": bool(beside)}
    return Page(
        title=str(found.study.get("name") or study.resolve().name),
        facts=_facts(scores, runs),
        sections=[(key, word) for key, word in sections if kept.get(key, True)],
        verdict=conclusions.verdict,
        leading=leading_figures(figures),
        alerts=_alerts(runs),
        score_tables=score_tables(scores, conclusions),
        comparison_tables=[*conclusions.tables, *([costs] if costs else [])],
        figure_sections=figure_sections(figures),
        class_tables=classes,
        gallery=page_gallery(shown, scores),
        gallery_note=GALLERY_NOTE if shown else "No pictures: the study has no saved overlays.",
        error_swatches=error_swatches(),
        paper_tables=beside,
        paper_note=paper_note(),
        protocol=protocol_facts(found.study, scores),
        commands=study_commands(found.study, command),
        protocol_tables=protocol_tables(runs),
        methods=conclusions.methods,
    )


def write_report(report: Report, out: Path, *, every_view: bool = False) -> Path:
    """Write the page, its Markdown, the figures and the tables into ``out``; returns the path of report.html."""
    page = report.page
    try:
        out.mkdir(parents=True, exist_ok=True)
        draw_all(report.figures, out / "figures", every_view=every_view)
        if report.shown:
            draw_overlays(report.shown, out / "figures")
            write_whole(out / "figures" / "overlays.csv", to_csv(OVERLAY_COLUMNS, overlay_rows(report.shown)))
        for table in (*page.score_tables, *page.comparison_tables, *page.class_tables, *page.paper_tables):
            cells = [[cell.text for cell in row] for row in table.rows]
            write_whole(out / "tables" / f"{table.name}.tex", to_latex(table) + "\n")
            write_whole(out / "tables" / f"{table.name}.csv", to_csv(table.columns, cells))
        write_whole(out / "report.md", report_markdown(page, every_view=every_view))
        write_whole(out / "report.html", render(page))
    except OSError as error:
        raise BadInput(f"report: cannot write into '{out}': {error.strerror or error}. Name another `out`.") from error
    return out / "report.html"


def _facts(scores: Scores, runs: Sequence[Run]) -> list[tuple[str, str]]:
    trained = {replace(arm, decision="") for arm in scores.arms}
    facts = [("models" if scores.from_elsewhere else "losses", str(len(trained)))]
    if len(scores.decisions) > 1:
        facts.append(("decisions", ", ".join(scores.decisions)))
    facts.append(("seeds", str(len(scores.seeds))))
    facts += [
        ("data sets", str(len(set(scores.data)))),
        ("cases", f"{scores.case_count:,}"),
        ("rows", f"{scores.rows:,}"),
    ]
    if runs:
        facts.append(("runs", f"{sum(run.finished for run in runs)} of {len(runs)} finished"))
    return facts


def _alerts(runs: Sequence[Run]) -> list[str]:
    alerts = [f"Run {run.name} failed: {run.error}" for run in runs if run.error]
    waiting = [run.name for run in runs if not run.finished and not run.error]
    if waiting:
        runs_are = counted(len(waiting), "run is", "runs are")
        alerts.append(f"{runs_are} not finished and not in the numbers: {', '.join(waiting[:6])}.")
    return alerts
