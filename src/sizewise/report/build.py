"""Make the report of a study folder: ``report.html``, ``report.md``, ``figures/`` and ``tables/``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.progress import track
from sizewise.report.chart import Figure, LeftOut
from sizewise.report.conclusions import Conclusions, conclude
from sizewise.report.cost_table import cost_table
from sizewise.report.draw import draw
from sizewise.report.figures.distribution import violins
from sizewise.report.figures.overlays import COLUMNS as OVERLAY_COLUMNS
from sizewise.report.figures.overlays import draw_overlays, overlay_rows
from sizewise.report.figures.radar import radar
from sizewise.report.figures.sizes import agreement, error_by_size
from sizewise.report.figures.theory import penalties, temperature
from sizewise.report.figures.training import cost, validation_curves
from sizewise.report.figures.weights import temperature_curves, weight_curves
from sizewise.report.gallery import ERROR_COLOURS, ShownCase, page_gallery, shown_cases
from sizewise.report.label_maps import LABEL_MAPS
from sizewise.report.markdown import report_markdown
from sizewise.report.page import Page, figure_sections, render
from sizewise.report.paper import paper_note, paper_tables
from sizewise.report.protocol import commands, protocol_facts, protocol_tables
from sizewise.report.regions import region_sizes
from sizewise.report.saved import Run, read_groups, read_run, read_study_json, run_folders
from sizewise.report.score_tables import class_tables, score_tables
from sizewise.report.scores import Scores, label_results
from sizewise.report.summary import overall_means
from sizewise.report.table import Table, to_csv, to_latex
from sizewise.study.results import read_results

TABS = ("Scores", "Region sizes", "Across data sets", "Training", "Theory")


def build_report(
    study: Path, *, out: Path | None = None, reference: str = "", metric: str = "dsc", every_view: bool = False
) -> Path:
    """Make the report from what was saved, without training anything.

    Args:
        study: a study folder, with study.json and results.csv.
        out: where the report goes; None: into the study folder.
        reference: the loss that the others are compared with; empty: the study's.
        metric: what the statistics compare: dsc, iou, nsd, hd95, size_error or relative_size_error.
        every_view: draw each figure for every data set and class, not for the first few; the page has them all anyway.

    Returns:
        the path of report.html.

    Raises:
        BadInput: what is wrong with the folder or its files.
    """
    report = assemble(study, reference=reference, metric=metric)
    out = out or study
    _write_all(out, report, every_view=every_view)
    return out / "report.html"


@dataclass(frozen=True)
class Report:
    """All that is written: the page, the figures, and the cases that have pictures."""

    page: Page
    figures: Sequence[Figure | LeftOut]
    shown: dict[str, list[ShownCase]]


def assemble(study: Path, *, reference: str = "", metric: str = "dsc") -> Report:
    """Read a study and make the parts of its report; nothing is written."""
    settings = read_study_json(study)
    scores = label_results(read_results(study / "results.csv"), from_elsewhere=settings.get("source") == LABEL_MAPS)
    runs = [read_run(folder, labels=scores.labels) for folder in run_folders(study)]
    name_classes(scores, runs, settings)
    usual = str(settings.get("reference", ""))
    conclusions = conclude(scores, reference=reference, usual=usual, groups=read_groups(study), metric=metric)
    figures = make_figures(scores, runs, conclusions)
    shown = shown_cases(runs, scores)
    page = make_page(
        settings, scores, runs, conclusions, figures, shown, study=study, reference=reference, metric=metric
    )
    return Report(page, figures, shown)


def make_figures(scores: Scores, runs: Sequence[Run], conclusions: Conclusions) -> list[Figure | LeftOut]:
    """Every figure, or the sentence why it is left out, in the order of the page."""
    sizes = region_sizes(scores)
    return [
        *conclusions.figures,
        violins(scores),
        weight_curves(scores),
        temperature_curves(scores),
        agreement(scores, sizes),
        error_by_size(scores, sizes),
        radar(scores),
        validation_curves(runs, scores.entries),
        cost(runs, _mean_scores(scores), scores.entries),
        penalties(),
        temperature(),
    ]


def _mean_scores(scores: Scores) -> dict[tuple[str, str], float]:
    return {
        (scores.arenas[arena], scores.entries[entry]): mean.mean
        for (arena, entry), mean in overall_means(scores, "dsc").items()
    }


def make_page(
    settings: dict,
    scores: Scores,
    runs: Sequence[Run],
    conclusions: Conclusions,
    figures: Sequence[Figure | LeftOut],
    shown: dict[str, list[ShownCase]],
    *,
    study: Path,
    reference: str,
    metric: str,
) -> Page:
    """Put the parts in the order of the page."""
    classes = class_tables(scores, region_sizes(scores))
    beside = paper_tables(scores)
    costs = cost_table(runs, _mean_scores(scores), scores.entries)
    sections = [("verdict", "Verdict"), ("scores", "Scores"), ("figures", "Figures"), ("classes", "Classes")]
    sections += [("cases", "Cases"), ("paper", "Paper"), ("protocol", "Protocol")]
    kept = {"classes": bool(classes), "paper": bool(beside)}
    return Page(
        title=str(settings.get("name") or study.resolve().name),
        facts=_facts(scores, runs),
        sections=[(key, word) for key, word in sections if kept.get(key, True)],
        verdict=conclusions.verdict,
        alerts=_alerts(runs),
        score_tables=[*score_tables(scores), *conclusions.tables, *([costs] if costs else [])],
        figure_sections=figure_sections(figures, TABS),
        class_tables=classes,
        gallery=page_gallery(shown, scores),
        gallery_note=_gallery_note(shown),
        error_colours=ERROR_COLOURS,
        paper_tables=beside,
        paper_note=paper_note(),
        protocol=protocol_facts(settings, scores),
        commands=commands(settings, study_path=str(study), reference=reference, metric=metric),
        protocol_tables=protocol_tables(runs),
        methods=conclusions.methods,
    )


def name_classes(scores: Scores, runs: Sequence[Run], settings: dict) -> None:
    """Class names as the runs know them; a study of label maps may have them in study.json."""
    for arena, name in enumerate(scores.arenas):
        named = {int(key): str(value) for key, value in dict(settings.get("class_names", {})).items()}
        for run in runs:
            if run.arena == name:
                named |= run.classes
        scores.class_names.update({(arena, class_id): word for class_id, word in named.items()})


def _write_all(out: Path, report: Report, *, every_view: bool) -> None:
    page = report.page
    try:
        out.mkdir(parents=True, exist_ok=True)
        for figure in track(report.figures, what="figures"):
            if isinstance(figure, Figure):
                draw(figure, out / "figures", every_view=every_view)
                write_whole(out / "figures" / f"{figure.name}.csv", to_csv(figure.columns, figure.rows))
        if report.shown:
            draw_overlays(report.shown, out / "figures")
            write_whole(out / "figures" / "overlays.csv", to_csv(OVERLAY_COLUMNS, overlay_rows(report.shown)))
        for table in (*page.score_tables, *page.class_tables, *page.paper_tables):
            write_whole(out / "tables" / f"{table.name}.tex", to_latex(table) + "\n")
            write_whole(out / "tables" / f"{table.name}.csv", _table_csv(table))
        write_whole(out / "report.md", report_markdown(page, every_view=every_view))
        write_whole(out / "report.html", render(page))
    except OSError as error:
        raise BadInput(f"report: cannot write into '{out}': {error.strerror or error}. Name another `out`.") from error


def _table_csv(table: Table) -> str:
    return to_csv(table.columns, [[cell.text for cell in row] for row in table.rows])


def _facts(scores: Scores, runs: Sequence[Run]) -> list[tuple[str, str]]:
    plural = "models" if scores.from_elsewhere else "losses"
    facts = [(plural, str(len(scores.entries))), ("seeds", str(len(scores.seeds)))]
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
        alerts.append(f"{len(waiting)} runs are not finished and not in the numbers: {', '.join(waiting[:6])}.")
    return alerts


def _gallery_note(shown: dict[str, list[ShownCase]]) -> str:
    if not shown:
        return "No pictures: the study has no saved overlays."
    return (
        "Cases are ordered by their DSC, the mean over losses. Each picture is of the run with the lowest seed; of a "
        "volume it is one slice, while the DSC is of the whole case. The worst, median and best are in "
        "figures/overlays-*. Pictures are kept of at most a hundred cases, taken evenly from the list of names, not by "
        "score."
    )
