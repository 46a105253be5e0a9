"""``sizewise diagnose``: what limits a model, and what to change first."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path | None, typer.Argument(help="a run folder, from `sizewise train`; or give --pred")] = None,
    pred: Annotated[Path | None, typer.Option(help="folder of predicted label maps, of whatever program")] = None,
    target: Annotated[Path | None, typer.Option(help="folder of true label maps, with the same file stems")] = None,
    probabilities: Annotated[
        Path | None, typer.Option(help="folder of .npz, .npy or NIfTI as `decide` reads (default: those beside --pred)")
    ] = None,
    out: Annotated[Path, typer.Option(help="folder for diagnosis.html, .csv and .json")] = Path("diagnosis"),
    background: Annotated[str, typer.Option(help="the class that is not scored, or none")] = "0",
    ignore_index: Annotated[int | None, typer.Option(help="target pixels that count for nothing")] = None,
    activation: Annotated[str, typer.Option(help="of --probabilities: softmax, or sigmoid")] = "softmax",
    cases: Annotated[
        str, typer.Option(help="all: each target needs a prediction; predicted: those that have one")
    ] = "all",
    jobs: Annotated[int | None, typer.Option(help="processes (default: one per core)")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Say what limits a model, its decision, its sizes or its network, and what to change first."""
    from sizewise.cli.diagnose_screen import first_command, show_diagnosis
    from sizewise.diagnosis.diagnose import diagnose
    from sizewise.diagnosis.diagnosis_page import make_folder, write_diagnosis
    from sizewise.probability_maps.decide_folder import read_background

    make_folder(out)
    found = diagnose(
        run,
        predictions=pred,
        targets=target,
        probabilities=probabilities,
        activation=activation,
        background=read_background(background),
        ignore_index=ignore_index,
        cases=cases,
        jobs=jobs,
        device=device,
    )
    step = first_command(
        found,
        run=run,
        pred=pred,
        target=target,
        probabilities=probabilities or pred,
        activation=activation,
        background=background,
    )
    show_diagnosis(found, page=write_diagnosis(found, out, command=step), command=step)
