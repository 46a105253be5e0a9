"""``sizewise advise``: which loss for a data set, by its region sizes and by what won on sets like it."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    path: Annotated[str, typer.Argument(help="A data set's folder, or synthetic, or synthetic-3d.")],
    evidence: Annotated[
        list[Path] | None, typer.Option(help="A finished study of yours, or a folder of some; may be repeated.")
    ] = None,
    name: Annotated[str, typer.Option(help="Read the folder as this data set, such as folder.")] = "",
    merge: Annotated[bool, typer.Option("--merge", help="Join all foreground classes into one.")] = False,
    classes_csv: Annotated[Path | None, typer.Option(help="Class names with mask values or colours.")] = None,
    ignore_index: Annotated[int | None, typer.Option(help="Mask value of pixels without a label.")] = None,
    modality: Annotated[str, typer.Option(help="What was measured, such as CT or MRI, by channel: T1,T2.")] = "",
    background: Annotated[str, typer.Option(help="none: every class is scored; 0: all but label 0.")] = "",
    groups: Annotated[
        str, typer.Option(help="Cases that belong together: a pattern, as patient\\d+, or a CSV (case, group).")
    ] = "",
    split: Annotated[str, typer.Option(help="Leave out the test cases of this CSV (case, subset).")] = "",
    test_share: Annotated[float | None, typer.Option(help="For the commands: share of the cases to test.")] = None,
    folds: Annotated[int, typer.Option(help="For the commands: folds of a cross-validation.")] = 0,
) -> None:
    """Read the region sizes, and say which loss, λ, scope, decision and recipe to take, why, and how sure that is."""
    from sizewise.advice.advise import advise_table
    from sizewise.advice.evidence_table import read_evidence
    from sizewise.advice.mask_regions import mask_regions
    from sizewise.advice.own_studies import read_studies
    from sizewise.cli.advise_screen import show_advice
    from sizewise.cli.data_words import DataWords
    from sizewise.data.recognise import find_layout
    from sizewise.data.split_options import read_split
    from sizewise.train.recipes import recipe_by_layout

    known = (*read_evidence(), *read_studies(evidence or ()))
    words = DataWords(
        name=name,
        merge=merge,
        classes_csv=classes_csv,
        ignore_index=ignore_index,
        modality=modality,
        background=background,
        groups=groups,
        split=split,
        test_share=test_share,
        folds=folds,
    )
    words.split_options()  # two that contradict each other are refused now
    dataset = words.open(path)
    regions = mask_regions(dataset, subsets=read_split(Path(split), dataset) if split else None)
    advice = advise_table(regions.table, evidence=known, recipe=recipe_by_layout(find_layout(path, name=name).name))
    show_advice(dataset, regions, advice, ["--data", path, *words.flags()])
