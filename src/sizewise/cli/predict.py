"""``sizewise predict``: label maps out."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(help="a run folder, from `sizewise train`")],
    data: Annotated[str, typer.Option(help="a data set, a folder of images, or one image")],
    out: Annotated[Path, typer.Option(help="where the label maps go")] = Path("predictions"),
    subset: Annotated[str, typer.Option(help="of a data set: test, validation, train, unlabelled or all")] = "test",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Write a label map for each image, in the image's own size and geometry."""
    from sizewise.cli.show import show_next
    from sizewise.train.predict import predict_folder

    files = predict_folder(run, data, out=out, subset=subset, device=device)
    written = files[0].parent if files else out  # multi-label: a folder for each class
    show_next(f"sizewise evaluate --pred {written} --target FOLDER_OF_TRUE_LABEL_MAPS --cases predicted --out scores")
