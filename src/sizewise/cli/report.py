"""``sizewise report``: tables, statistics, figures and the page, from saved results or from label maps."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    study: Annotated[Path | None, typer.Argument(help="Folder of a study that sizewise compare made.")] = None,
    pred: Annotated[
        list[str] | None, typer.Option(help="NAME=DIR: predicted label maps, once per model and training run.")
    ] = None,
    target: Annotated[Path | None, typer.Option(help="Folder of true label maps, for --pred.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the report. Default: STUDY, or 'report'.")] = None,
    reference: Annotated[str, typer.Option(help="The loss or model that the others are compared with.")] = "",
    groups: Annotated[
        Path | None, typer.Option(help="With --pred: CSV with a case and its patient per line, for the statistics.")
    ] = None,
    metric: Annotated[
        str, typer.Option(help="What the statistics compare: dsc, iou, nsd, hd95, size_error, relative_size_error.")
    ] = "dsc",
    every_view: Annotated[
        bool, typer.Option("--every-view", help="Draw every data set and class as SVG and PNG, not the first four.")
    ] = False,
    nsd_tolerance: Annotated[float, typer.Option(help="With --pred: mm (pixels) a surface may be off.")] = 1.0,
    classes: Annotated[
        str | None, typer.Option(help="With --pred: ids to score, as 1,2,5-9. Default: all but 0.")
    ] = None,
    ignore_index: Annotated[int | None, typer.Option(help="With --pred: target pixels that count for nothing.")] = None,
    spacing: Annotated[str, typer.Option(help="With --pred: mm between rows and columns, as 0.5,0.5.")] = "1,1",
    jobs: Annotated[int | None, typer.Option(help="With --pred: processes. Default: one per core.")] = None,
) -> None:
    """Make the report of a study again, or one of label maps that came from elsewhere."""
    from sizewise.cli.report_screen import choose_source, refuse_scoring, show_report
    from sizewise.cli.show import show_findings_of
    from sizewise.report.build import build_report

    predictions = choose_source(study, pred or [], target)
    scoring = {
        "--groups": groups is not None,
        "--nsd-tolerance": nsd_tolerance != 1.0,
        "--classes": classes is not None,
        "--ignore-index": ignore_index is not None,
        "--spacing": spacing != "1,1",
        "--jobs": jobs is not None,
    }
    if not predictions:
        refuse_scoring(study, [name for name, given in scoring.items() if given])
    if predictions:
        from sizewise.cli.evaluate_screen import parse_ids, parse_numbers
        from sizewise.report.label_maps import write_label_map_study

        study = write_label_map_study(
            out or Path("report"),
            predictions,
            target or Path(),
            reference=reference,
            groups=groups,
            nsd_tolerance=nsd_tolerance,
            classes=parse_ids(classes),
            ignore_index=ignore_index,
            spacing=parse_numbers(spacing),
            jobs=jobs,
        )
    assert study is not None
    page = build_report(
        study, out=None if predictions else out, reference=reference, metric=metric, every_view=every_view
    )
    show_findings_of(page.with_suffix(".md"))
    show_report(page)
