"""``sizewise train``: one run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sizewise.cli.derived_options import setting_options, takes


@takes(before=setting_options())
def command(
    config: Annotated[
        Path | None, typer.Option(help="config.json of a run, whose settings this one begins with; flags change them")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the run folder (default: runs/DATA-MODEL-LOSS-SEED-HASH)")] = None,
    decide: Annotated[
        str, typer.Option(help="also score test cases decided for dice, iou or size; the weights stay the same")
    ] = "argmax",
    resume: Annotated[bool, typer.Option("--resume", help="go on with what --out holds")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
    devices: Annotated[int, typer.Option(help="GPUs, or CPU processes, on this machine")] = 1,
    nodes: Annotated[int, typer.Option(help="machines, started with torchrun")] = 1,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="same bits on a GPU, slower")] = False,
    compile: Annotated[
        str, typer.Option(help="on, off, or auto: torch.compile on one GPU where the run is long enough to pay for it")
    ] = "auto",
    workers: Annotated[int, typer.Option(help="threads that read files, 0 for one per core")] = 0,
    threads: Annotated[int, typer.Option(help="of torch on a CPU (default: the cores that others leave free)")] = 0,
    stream: Annotated[bool, typer.Option("--stream", help="read crops from disk, keep nothing in memory")] = False,
    save_seconds: Annotated[float, typer.Option(help="at least this long between two saves")] = 20.0,
    logger: Annotated[str, typer.Option(help="wandb, mlflow, tensorboard, or MODULE:NAME of your own")] = "",
    **given: Any,
) -> None:
    """Train one model with one loss, and score it on the test cases. What is not given is the recipe's."""
    from sizewise.cli.train_screen import carry_out
    from sizewise.errors import BadInput
    from sizewise.train.config import Runtime
    from sizewise.train.saved_settings import changed_settings
    from sizewise.train.setting_words import run_settings

    runtime = Runtime(
        accelerator=device,  # type: ignore[arg-type]
        devices=devices,
        nodes=nodes,
        deterministic=deterministic,
        compile=compile,  # type: ignore[arg-type]
        workers=workers,
        keep_on_device="never" if stream else "auto",
        save_seconds=save_seconds,
        logger=logger,
        threads=threads,
    )
    settings = run_settings({name: value for name, value in given.items() if value is not None})
    if config is not None:
        settings = changed_settings(config, settings)
    elif "data" not in settings:
        raise BadInput("`data` is missing: name a data set, or a run's config.json with `config`.")
    carry_out(settings, runtime, out=out, resume=resume, decide=decide)
