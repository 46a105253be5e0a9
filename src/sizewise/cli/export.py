"""``sizewise export``: a run as one file."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(help="a run folder, from `sizewise train`")],
    format: Annotated[str, typer.Option(help="onnx or torch-export")] = "onnx",
    out: Annotated[Path | None, typer.Option(help="the file (default: RUN/model.onnx or RUN/model.pt2)")] = None,
    shape: Annotated[str, typer.Option(help="of the images, as 352x352 (default: what was trained on)")] = "",
    decide: Annotated[str, typer.Option(help="what labels are best for: argmax, dice or iou")] = "argmax",
    temperature: Annotated[
        float | None, typer.Option(help="of --decide (default: fitted on the run's validation cases, and kept)")
    ] = None,
) -> None:
    """Write preparation, network and decision as one file, and compare it with what `predict` gives."""
    from sizewise.train.export import FORMATS, export_run
    from sizewise.train.setting_words import read_sizes

    done = export_run(
        run,
        out or run / f"model{FORMATS.get(format, '')}",
        format=format,
        shape=read_sizes(int, "shape", shape) if shape else (),
        decide=decide,
        temperature=temperature,
    )
    print(
        f"{done.path}: pixels {'×'.join(map(str, done.shape))} to labels and probabilities. On random pixels "
        f"{done.equal_labels:.4%} of the labels are those of predict; probabilities differ by at most "
        f"{done.largest_difference:.1e}."
    )
