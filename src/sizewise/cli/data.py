"""``sizewise data``: recognise a data set, check all of it, and show its cases, classes and region sizes."""

import shlex
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
    groups: Annotated[
        str, typer.Option(help="Cases that belong together: a pattern, as patient\\d+, or a CSV (case, group).")
    ] = "",
    split: Annotated[str, typer.Option(help="Try this split: a CSV with the columns case and subset.")] = "",
    test_share: Annotated[float | None, typer.Option(help="Try a test set of this share of the cases.")] = None,
    folds: Annotated[int, typer.Option(help="Try a cross-validation of so many folds.")] = 0,
    plan: Annotated[bool, typer.Option("--plan", help="Say what a study of 4 losses and 3 seeds could show.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for sizes.csv and the plot. Default: nothing is written.")
    ] = None,
) -> None:
    """Recognise a data set, check every file of it, and show its cases, classes and region sizes."""
    from sizewise.cli.data_screen import as_flags, make_folder, show_dataset, show_findings, write_files
    from sizewise.cli.outlook_screen import show_outlook
    from sizewise.data.check import check_dataset
    from sizewise.data.recognise import open_dataset
    from sizewise.data.split_options import SplitOptions
    from sizewise.study.outlook import look_at_data

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
        groups=groups,
    )
    chosen = SplitOptions(table=split, test_share=test_share, folds=folds)
    result = check_dataset(dataset)
    splits = show_dataset(dataset, result, chosen)
    options = {
        "--name": name,
        "--merge": merge,
        "--classes-csv": classes_csv,
        "--ignore-index": ignore_index,
        "--modality": modality,
        "--background": background,
        "--groups": groups,
        "--split": split,
        "--test-share": test_share,
        "--folds": folds or None,
    }
    if plan and splits:
        tested = [name for one in splits for name in one.test]
        show_outlook([look_at_data(dataset, tested, folds=folds)])
        study = ["sizewise", "compare", "--data", path, *as_flags(options), "--losses", "CE,DiceCE,JaccardCE,RCE"]
        print(f"  Hours and memory on this machine: {shlex.join([*study, '--seeds', '3', '--dry-run'])}")
    written = write_files(dataset, result, out) if out is not None else ()
    show_findings(path, result, written, options=options)
    if result.errors:
        raise typer.Exit(2)
