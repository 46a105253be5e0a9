"""``sizewise report``: tables, statistics, figures and the page, from saved results or from label maps."""

from pathlib import Path
from typing import Annotated

import typer

from sizewise.metrics.registry import score_names


def command(
    study: Annotated[Path | None, typer.Argument(help="Folder of a study that sizewise compare made.")] = None,
    pred: Annotated[
        list[str] | None, typer.Option(help="NAME=DIR: predicted label maps, once per model and training run.")
    ] = None,
    target: Annotated[Path | None, typer.Option(help="Folder of true label maps, for --pred.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the report. Default: STUDY, or 'report'.")] = None,
    reference: Annotated[str, typer.Option(help="The loss or model that the others are compared with.")] = "",
    groups: Annotated[
        str, typer.Option(help="With --pred: patients, as a pattern in the cases' names or a CSV (case, group).")
    ] = "",
    metric: Annotated[str, typer.Option(help=f"What the statistics compare: {', '.join(score_names())}.")] = "dsc",
    every_view: Annotated[
        bool, typer.Option("--every-view", help="Draw every data set and class as SVG and PNG, not the first four.")
    ] = False,
    nsd_tolerance: Annotated[float, typer.Option(help="With --pred: mm (pixels) a surface may be off.")] = 1.0,
    classes: Annotated[
        str | None, typer.Option(help="With --pred: ids to score, as 1,2,5-9. Default: all but 0.")
    ] = None,
    regions: Annotated[
        str | None, typer.Option(help="With --pred: sets of ids scored as one each, as '1,2;2': nnU-Net's regions.")
    ] = None,
    ignore_index: Annotated[int | None, typer.Option(help="With --pred: target pixels that count for nothing.")] = None,
    background: Annotated[str, typer.Option(help="With --pred: none scores label 0 like every other class.")] = "0",
    spacing: Annotated[str, typer.Option(help="With --pred: mm between rows and columns, as 0.5,0.5.")] = "1,1",
    cases: Annotated[
        str, typer.Option(help="With --pred: all, or predicted: only the cases that every --pred has.")
    ] = "all",
    images: Annotated[
        Path | None, typer.Option(help="With --pred: folder of the images, for pictures of cases in the report.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="With --pred: processes. Default: one per core.")] = None,
) -> None:
    """Make the report of a study again, or one of label maps that came from elsewhere."""
    from sizewise.cli.command_line import command_line
    from sizewise.cli.evaluate_screen import parse_ids, parse_numbers, parse_regions
    from sizewise.cli.report_screen import choose_source, refuse_scoring, show_report
    from sizewise.report.build import assemble, write_report
    from sizewise.report.label_map_study import Scoring, write_label_map_study

    scoring = Scoring(
        nsd_tolerance,
        parse_ids(classes),
        ignore_index,
        parse_numbers(spacing),
        jobs,
        background,
        tuple(map(tuple, parse_regions(regions))),
        cases,
    )
    predictions = choose_source(study, pred or [], target)
    if predictions:
        study = out or Path("report")
        write_label_map_study(
            study,
            predictions,
            target or Path(),
            scoring=scoring,
            reference=reference,
            groups=groups,
            command=command_line(),
            images=images,
        )
    assert study is not None
    if not predictions:
        refuse_scoring(study, scoring, groups, images)
    made = assemble(study, reference=reference, metric=metric, command="" if predictions else command_line())
    show_report(made.page, write_report(made, out or study, every_view=every_view))
