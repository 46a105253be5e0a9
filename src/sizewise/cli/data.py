"""``sizewise data``: recognise a data set, check all of it, and show its cases, classes and region sizes."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    path: Annotated[str, typer.Argument(help="A data set's folder, or synthetic, or synthetic-3d.")],
    name: Annotated[str, typer.Option(help="Read the folder as this data set, such as folder.")] = "",
    merge: Annotated[bool, typer.Option("--merge", help="Join all foreground classes into one.")] = False,
    classes_csv: Annotated[Path | None, typer.Option(help="Class names with mask values or colours.")] = None,
    ignore_index: Annotated[int | None, typer.Option(help="Mask value of pixels without a label.")] = None,
    modality: Annotated[str, typer.Option(help="What was measured, such as CT or MRI, by channel: T1,T2.")] = "",
    background: Annotated[str, typer.Option(help="none: every class is scored; 0: all but label 0.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder for sizes.csv and the plot. Default: nothing is written.")
    ] = None,
) -> None:
    """Recognise a data set, check every file of it, and show its cases, classes and region sizes."""
    from sizewise.cli.data_screen import make_folder, show_dataset, show_findings, write_files
    from sizewise.data.check import check_dataset
    from sizewise.data.recognise import open_dataset

    if out is not None:
        make_folder(out)  # before the work, not after it
    dataset = open_dataset(
        path,
        name=name,
        merge=merge,
        classes_csv=classes_csv,
        ignore_index=ignore_index,
        modality=tuple(word.strip() for word in modality.split(",") if word.strip()),
        background=background,
    )
    result = check_dataset(dataset)
    show_dataset(dataset, result)
    written = write_files(dataset, result, out) if out is not None else ()
    options = {
        "--name": name,
        "--merge": merge,
        "--classes-csv": classes_csv,
        "--ignore-index": ignore_index,
        "--modality": modality,
        "--background": background,
    }
    show_findings(path, result, written, options=options)
    if result.errors:
        raise typer.Exit(2)
