"""``sizewise decide``: label maps from probabilities that some program saved."""

import shlex
from pathlib import Path
from typing import Annotated

import typer


def command(
    probabilities: Annotated[
        Path, typer.Option(help="folder of nnU-Net's .npz, of .npy (K, *S), or of NIfTI (X, Y, Z, K)")
    ],
    out: Annotated[Path, typer.Option(help="where the label maps go: PNG in 2D, NIfTI in 3D")],
    metric: Annotated[str, typer.Option(help="what labels are best for: dice, iou, size or argmax")] = "dice",
    background: Annotated[str, typer.Option(help="the class that is not scored, or none")] = "0",
    temperature: Annotated[float | None, typer.Option(help="above 1 where the model is too sure (default: 1)")] = None,
    fit: Annotated[Path | None, typer.Option(help="probabilities of validation cases, to fit the temperature")] = None,
    fit_target: Annotated[Path | None, typer.Option(help="the true label maps of --fit")] = None,
    ignore_index: Annotated[int | None, typer.Option(help="pixels of --fit-target that count for nothing")] = None,
    activation: Annotated[str, typer.Option(help="softmax, or sigmoid where regions may overlap")] = "softmax",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Decide saved probabilities for Dice, IoU or size, and write label maps in their geometry."""
    from sizewise.cli.show import show_next
    from sizewise.probability_maps.decide_folder import decide_folder, read_background

    files = decide_folder(
        probabilities,
        out=out,
        metric=metric,
        activation=activation,
        background=read_background(background),
        temperature=temperature,
        fit=fit,
        fit_target=fit_target,
        ignore_index=ignore_index,
        device=device,
    )
    folder = shlex.quote(str(files[0].parent))
    show_next(f"sizewise evaluate --pred {folder} --target FOLDER_OF_TRUE_LABEL_MAPS --cases predicted --out scores")
