"""``sizewise evaluate``: score any two folders of label maps."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    pred: Annotated[Path, typer.Option(help="Folder of predicted label maps: PNG, BMP, TIFF, JPEG or NIfTI.")],
    target: Annotated[Path, typer.Option(help="Folder of true label maps, with the same file stems.")],
    out: Annotated[Path, typer.Option(help="Folder for cases.csv.")] = Path("evaluation"),
    nsd_tolerance: Annotated[float, typer.Option(help="mm (pixels, for pictures) a surface may be off.")] = 1.0,
    classes: Annotated[str | None, typer.Option(help="Ids to score, as 1,2,5-9. Default: all but 0.")] = None,
    regions: Annotated[
        str | None, typer.Option(help="Sets of ids scored as one each, as '1,2;2': nnU-Net's regions.")
    ] = None,
    ignore_index: Annotated[int | None, typer.Option(help="Target pixels with this value count for nothing.")] = None,
    background: Annotated[str, typer.Option(help="none: label 0 is scored like every other class.")] = "0",
    spacing: Annotated[str, typer.Option(help="mm between rows and columns of pictures, as 0.5,0.5.")] = "1,1",
    cases: Annotated[
        str, typer.Option(help="all: each target needs a prediction; predicted: score those that have one.")
    ] = "all",
    jobs: Annotated[int | None, typer.Option(help="Processes. Default: one per core.")] = None,
) -> None:
    """Score predicted label maps: DSC, IoU, NSD, HD95 and size errors per case and class, and pooled."""
    from sizewise.cli.evaluate_screen import parse_ids, parse_numbers, parse_regions, show_evaluation
    from sizewise.evaluate.folders import evaluate_folders
    from sizewise.metrics.cases_csv import check_writable, write_cases

    path = out / "cases.csv"
    check_writable(path)
    evaluation = evaluate_folders(
        pred,
        target,
        nsd_tolerance=nsd_tolerance,
        classes=parse_ids(classes),
        ignore_index=ignore_index,
        spacing=parse_numbers(spacing),
        cases=cases,
        jobs=jobs,
        background=background,
        regions=parse_regions(regions),
    )
    write_cases(path, evaluation.rows)
    given: dict[str, tuple[object, object]] = {
        "--cases": (cases, "all"),
        "--classes": (classes, None),
        "--regions": (regions, None),
    }
    given |= {"--ignore-index": (ignore_index, None), "--background": (background, "0"), "--spacing": (spacing, "1,1")}
    given |= {"--nsd-tolerance": (nsd_tolerance, 1.0)}
    show_evaluation(evaluation, path=path, pred=pred, target=target, regions=parse_regions(regions), options=given)
