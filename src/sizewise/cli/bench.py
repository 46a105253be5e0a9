"""``sizewise bench``: speed and memory of the losses against the peers that are installed."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    device: Annotated[str | None, typer.Option(help="cpu or cuda. Default: a GPU if there is one.")] = None,
    losses: Annotated[str, typer.Option(help="Our losses, comma-separated, or all.")] = "RCE,CE,DiceCE",
    shape: Annotated[
        list[str] | None, typer.Option(help="Shape of the logits, as 8x2x512x512; may be given several times.")
    ] = None,
    dtype: Annotated[
        str, typer.Option(help="float32 (int64 labels), bfloat16 (uint8 labels), or both with a comma.")
    ] = "float32",
    layout: Annotated[
        str, typer.Option(help="Of the logits in memory: contiguous, channels_last, or both with a comma.")
    ] = "contiguous",
    rounds: Annotated[int, typer.Option(help="Timed rounds; medians are shown.")] = 15,
    memory: Annotated[bool, typer.Option(help="Measure peak memory too.")] = True,
    out: Annotated[Path | None, typer.Option(help="Folder for bench.csv and the plot bench.svg, bench.png.")] = None,
) -> None:
    """Time the losses against torch, MONAI, SMP and nnU-Net, as far as they are installed."""
    from sizewise.bench import run_benchmark
    from sizewise.bench.options import parse_inputs, parse_losses
    from sizewise.cli.show import show_next

    run_benchmark(
        device,
        inputs=parse_inputs(shape or (), dtype=dtype, layout=layout, device=device),
        losses=parse_losses(losses),
        rounds=rounds,
        memory=memory,
        out=out,
    )
    if out is None:
        show_next("sizewise bench --out DIR  # the rows as CSV, and a plot")
