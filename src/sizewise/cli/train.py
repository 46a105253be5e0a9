"""``sizewise train``: one run."""

from pathlib import Path
from typing import Annotated, Any

import typer

DATA, LOSS, HOW, MACHINE = "Data", "Model and loss", "Training (default: the recipe's)", "Machine"


def command(
    data: Annotated[str, typer.Option(help="a folder, or synthetic, or synthetic-3d", rich_help_panel=DATA)],
    data_name: Annotated[str | None, typer.Option("--name", help="read the folder as this data set")] = None,
    merge: Annotated[bool | None, typer.Option("--merge", help="all foreground classes become one")] = None,
    classes_csv: Annotated[Path | None, typer.Option(help="class names with mask values or colours")] = None,
    ignore_index: Annotated[int | None, typer.Option(help="mask value of pixels without a label")] = None,
    modality: Annotated[
        str | None, typer.Option(help="what was measured, such as CT or MRI, by channel: T1,T2")
    ] = None,
    split_seed: Annotated[int | None, typer.Option(help="of the split, where the data set has none")] = None,
    model: Annotated[str | None, typer.Option(help="fpn-resnet50, monai-unet, … (ARCH-ENCODER of SMP)")] = None,
    encoder_weights: Annotated[str | None, typer.Option(help="none, imagenet, or a file")] = None,
    loss: Annotated[str | None, typer.Option(help="see `sizewise losses` (default: RCE)")] = None,
    weight: Annotated[float | None, typer.Option(help="λ of the loss's second term")] = None,
    temperature: Annotated[float | None, typer.Option(help="τ of size terms")] = None,
    gamma: Annotated[float | None, typer.Option(help="exponent of focal losses")] = None,
    smooth: Annotated[float | None, typer.Option(help="ε of Dice-type terms, in pixels")] = None,
    class_reduction: Annotated[str | None, typer.Option(help="sum or mean over classes")] = None,
    scope: Annotated[str | None, typer.Option(help="image, batch or global statistics")] = None,
    classes: Annotated[str | None, typer.Option(help="all or foreground: which classes the loss counts")] = None,
    activation: Annotated[str | None, typer.Option(help="softmax, or sigmoid (binary: one channel)")] = None,
    recipe: Annotated[str | None, typer.Option(help="polyp, retinal, volume, … (default: by data)")] = None,
    seed: Annotated[int | None, typer.Option(help="of initialisation, order and augmentation (default: 0)")] = None,
    epochs: Annotated[int | None, typer.Option()] = None,
    steps_per_epoch: Annotated[int | None, typer.Option(help="0: one pass over the cases")] = None,
    batch_size: Annotated[int | None, typer.Option(help="over all devices")] = None,
    size: Annotated[str | None, typer.Option(help="resize images, as 352x352; `stored` keeps them")] = None,
    patch: Annotated[str | None, typer.Option(help="train on crops, as 96x96x64")] = None,
    spacing: Annotated[str | None, typer.Option(help="resample volumes, in mm, as 1.5x1.5x2")] = None,
    oversample: Annotated[float | None, typer.Option(help="share of crops centred on the foreground")] = None,
    augment: Annotated[str | None, typer.Option(help="none, flip, picture, street or volume")] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam or sgd")] = None,
    learning_rate: Annotated[float | None, typer.Option()] = None,
    minimum_learning_rate: Annotated[float | None, typer.Option(help="where polynomial decay ends")] = None,
    momentum: Annotated[float | None, typer.Option(help="of SGD")] = None,
    weight_decay: Annotated[float | None, typer.Option()] = None,
    clip_norm: Annotated[float | None, typer.Option(help="largest norm of the gradient, 0 for no limit")] = None,
    schedule: Annotated[str | None, typer.Option(help="constant, plateau, poly or poly-step")] = None,
    power: Annotated[float | None, typer.Option(help="of polynomial decay")] = None,
    patience: Annotated[int | None, typer.Option(help="epochs before a plateau halves the rate")] = None,
    validate_every: Annotated[int | None, typer.Option(help="epochs between validations")] = None,
    precision: Annotated[str | None, typer.Option(help="float32 or bfloat16 (default: by device)")] = None,
    nsd_tolerance: Annotated[float | None, typer.Option(help="mm, or pixels (default: 1)")] = None,
    out: Annotated[Path | None, typer.Option(help="the run folder (default: runs/DATA-MODEL-LOSS-SEED-HASH)")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on with what --out holds")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
    devices: Annotated[int, typer.Option(help="GPUs, or CPU processes, on this machine")] = 1,
    nodes: Annotated[int, typer.Option(help="machines, started with torchrun")] = 1,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="same bits on a GPU, slower")] = False,
    workers: Annotated[int, typer.Option(help="threads that read files, 0 for one per core")] = 0,
    stream: Annotated[bool, typer.Option("--stream", help="read crops from disk, keep nothing in memory")] = False,
    save_seconds: Annotated[float, typer.Option(help="at least this long between two saves")] = 20.0,
) -> None:
    """Train one model with one loss, and score it on the test cases."""
    given: dict[str, Any] = {name: value for name, value in locals().items() if value is not None}
    from sizewise.train.options import run_settings
    from sizewise.train.start import start_run

    settings = run_settings(given)
    machine = {
        "accelerator": device,
        "devices": devices,
        "nodes": nodes,
        "deterministic": deterministic,
        "workers": workers,
        "keep_on_device": "never" if stream else "auto",
        "save_seconds": save_seconds,
    }
    start_run(settings, machine, out=out, resume=resume)
